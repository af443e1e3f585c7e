import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./admit.ts";
import { Beside, greets, sharedFolder } from "./beside.ts";
import { root } from "./places.ts";
import { until } from "./wait.ts";

/** The domain whose mail this Postfix delivers. It forwards no other mail. */
export const MAIL_DOMAIN = "guests.example";

/** A mail as Python's parser reads it. */
export interface Mail {
  headers: [string, string][];
  kind: string;
  parts: { type: string; content_id: string | null; text: string | null; bytes: string }[];
  defects: number;
}

/**
 * A private instance of Debian's Postfix, with its own settings, queue and data, on a free port of this machine. It delivers all
 * mail into one maildir. Its master process runs only as root.
 */
export class Postfix {
  readonly url: string;
  readonly #folder: string;
  readonly #server: Beside;

  private constructor(url: string, folder: string, server: Beside) {
    this.url = url;
    this.#folder = folder;
    this.#server = server;
  }

  static async start(): Promise<Postfix> {
    const port = await freePort();
    const folder = sharedFolder("postfix");
    for (const name of ["settings", "queue", "data", "mail"]) mkdirSync(join(folder, name));
    const id = (flag: string, user: string) => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
    chownSync(join(folder, "data"), id("-u", "postfix"), 0);
    const [uid, gid] = [id("-u", "nobody"), id("-g", "nobody")];
    chownSync(join(folder, "mail"), uid, gid);
    writeFileSync(join(folder, "settings/main.cf"), main(folder, uid, gid));
    writeFileSync(join(folder, "settings/master.cf"), master(port));
    const postfix = `/usr/sbin/postfix -c ${folder}/settings`;
    const server = new Beside(`${postfix} start`, `${postfix} stop`, folder);
    const self = new Postfix(`smtp://127.0.0.1:${port}`, folder, server);
    try {
      await until("Postfix", () => greets(port));
    } catch (error) {
      const log = self.log;
      await server.end();
      throw new Error(`Postfix does not start:\n${log}`, { cause: error });
    }
    return self;
  }

  /** Postfix's log about itself and each mail. */
  get log(): string {
    try {
      return this.#server.log + readFileSync(join(this.#folder, "log"), "utf8");
    } catch {
      return this.#server.log;
    }
  }

  /** The delivered mails, in any order. */
  get mails(): Mail[] {
    const inbox = join(this.#folder, "mail/inbox/new");
    let files: string[] = [];
    try {
      files = readdirSync(inbox).map((name) => join(inbox, name));
    } catch {
      // Made with the first mail.
    }
    const script = join(root, "crates/server/tests/python/mail.py");
    return JSON.parse(execFileSync("python3", [script, ...files], { encoding: "utf8", maxBuffer: 1 << 26 })) as Mail[];
  }

  async end(): Promise<void> {
    await this.#server.end();
  }
}

const main = (folder: string, uid: number, gid: number): string => `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
myhostname = mail.${MAIL_DOMAIN}
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = loopback-only
inet_protocols = ipv4
alias_maps =
alias_database =
smtpd_relay_restrictions = reject_unauth_destination
default_transport = error:passes nothing on
local_recipient_maps =
virtual_mailbox_domains = ${MAIL_DOMAIN}
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = static:inbox/
virtual_uid_maps = static:${uid}
virtual_gid_maps = static:${gid}
`;

// This leaves out the parts that connect to other servers, and the chroot jails, which need copies of system files.
const master = (port: number): string => `
127.0.0.1:${port} inet n - n - - smtpd
postlog unix-dgram n - n - 1 postlogd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
`;
