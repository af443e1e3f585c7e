/** Everything a browser test needs; see ../README.md. */
export { Admit, admitBinary, type AdmitOptions, type DemoLine, freePort } from "./admit.ts";
export { isRoot } from "./beside.ts";
export { Bucket } from "./bucket.ts";
export { canvasCamera, film, hold, show, type Shot } from "./camera.ts";
export { Disk } from "./disk.ts";
export { barriers, shot, wedge } from "./page.ts";
export { Phone, type PhoneOptions } from "./phone.ts";
export { folder, freshFolder, root } from "./places.ts";
export { type Mail, MAIL_DOMAIN, Postfix } from "./postfix.ts";
export { Postgres } from "./postgres.ts";
export { qrDataUrl, qrPng } from "./qr.ts";
export { until } from "./wait.ts";
export { workbook } from "./xlsx.ts";
