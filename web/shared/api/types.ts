/**
 * The shapes of the organiser's API, by the names that the pages use. `npm run types` generates them from `openapi.json`,
 * which a test of the server compares with what the server prints. Times are RFC 3339, UTC.
 */
import type { components, operations } from "../../generated/api.ts";

type Schemas = components["schemas"];

/** In the document a member that may be null is optional. But the server's answers always have it. */
type Always<T> = { [Member in keyof T]-?: Always<T[Member]> };
type Answer<Name extends keyof Schemas> = Always<Schemas[Name]>;
/** Gives some members a more exact type, because the document lists their words in prose only. An unknown member does not compile. */
type Narrowed<T, Members extends { [Member in keyof Members]: Member extends keyof T ? T[Member] : never }> = Omit<T, keyof Members> & Members;

/** A page of a list, whatever its items are. */
export interface Listed<T> extends Omit<Answer<"List_GateView">, "items"> {
  items: T[];
}

export type FieldProblem = Answer<"FieldError">;
export type Session = Answer<"Session">;
export type Role = Session["role"];

export type MemberView = Answer<"MemberView">;
/** The document names the roles of a token in prose only. */
export type ApiTokenView = Narrowed<Answer<"ApiTokenView">, { role: Role }>;
export type NewApiToken = Narrowed<Answer<"NewApiTokenView">, { role: Role }>;
/** Columns of the sender's table. A column that is `null` is not read. The server's answers always name the column of the row's id. */
export type WebhookColumns = Narrowed<Answer<"WebhookColumns">, { external_id: string }>;
export type WebhookView = Narrowed<Answer<"WebhookEndpointView">, { columns: WebhookColumns }>;
export type WebhookWithSecret = Narrowed<Answer<"ShownSecretView">, { columns: WebhookColumns }>;

export type AuditView = Answer<"AuditView">;
export type AuditAction = NonNullable<NonNullable<operations["get_api_audit"]["parameters"]["query"]>["action"]>;

export type EventView = Answer<"EventView">;
export type ListedEvent = Answer<"ListedEventView">;
export type BarcodeKind = EventView["barcode_kinds"][number];
export type EntryTypeView = Answer<"EntryTypeView">;
export type GateView = Answer<"GateView">;
export type Overview = Answer<"OverviewView">;
export type ChecklistKey = Overview["checklist"][number]["key"];

export type MailTemplateView = Answer<"MailTemplateView">;
/** A sample of a mail. */
export type MailPreview = Answer<"MailPreviewView">;

export type TicketView = Answer<"TicketView">;
export type TicketCounts = Answer<"TicketCountsView">;
export type ShownCode = Answer<"ShownCodeView">;

type MailView = Narrowed<Answer<"MailView">, { state: "sent" | "waiting" | "not_sent" }>;
type Mailed = { mail: MailView | null };
/** A guest, with the state of their ticket and of their mail. */
export type GuestView = Narrowed<Answer<"StandingGuestView">, Mailed>;
export type ShownGuest = Narrowed<Answer<"ShownGuestView">, Mailed>;
export type GuestState = NonNullable<NonNullable<operations["get_api_events_id_guests"]["parameters"]["query"]>["state"]>;
export type GuestCounts = Answer<"GuestCountsView">;
export type GuestListView = Answer<"GuestListView">;
/** The result of sending many guests' passes again: numbers of guests. */
export type ResentMany = Answer<"ResentView">;
export type CheckInAnswer = Answer<"CheckInView">;
export type MomentView = Narrowed<
  Answer<"MomentView">,
  { what: "added" | "changed" | "received" | "row_deleted" | "resent" | "remade" | "opened" | "entered" | "refused" | "left" | "undone" | "erased" }
>;

/** A run: the work of making one pass and mailing it to one guest. */
export type RunView = Answer<"RunView">;
export type RunWithSteps = Answer<"RunWithStepsView">;

/** What a person says about a file of guests. For a member that is left out, the server guesses or asks a question. */
export interface ImportMapping {
  /** From a column (`#` and its number, counted from 1) to its meaning, or to `ignore`. */
  columns?: Record<string, string>;
  /** From a status word of the file to the status that it means. */
  statuses?: Record<string, TicketView["status"]>;
  day_first?: boolean;
  missing_codes?: "make" | "leave_out";
  empty_words_in_names?: "empty" | "name";
  new_entry_types?: "create" | "first" | "leave_out";
  encoding?: string;
  sheet?: string;
}
export type ImportColumn = Narrowed<Answer<"ColumnView">, { by: "said" | "export" | "guess" | "nothing" }>;
export type QuestionKind = "missing_codes" | "status" | "empty_words_in_names" | "day_first";
export type ImportQuestion = Narrowed<Answer<"QuestionView">, { kind: QuestionKind }>;
export type RowFate = "new" | "changed" | "unchanged" | "left_out" | "joined" | "asked";
export type ImportRow = Narrowed<Answer<"RowView">, { becomes: RowFate }>;
export type ImportError = Answer<"ImportError">;
type ImportLists = {
  file: Narrowed<Answer<"FileView">, { format: "text" | "workbook" }>;
  columns: ImportColumn[];
  left_out_because: Narrowed<
    Answer<"LeftOutView">,
    { reason: "status" | "total" | "unassigned" | "entry_type" | "no_code" | "no_persons" }
  >[];
  questions: ImportQuestion[];
  rows: ImportRow[];
  barcode_kinds: BarcodeKind[];
};
/** The result of an import, or of its dry run. The document describes `mapping` as an object without members. */
export type ImportResult = Narrowed<Omit<Answer<"ImportResult">, "mapping">, ImportLists> & { mapping: ImportMapping };
export type PastImport = Answer<"ImportView">;
export type UndoneImport = Answer<"UndoneView">;
export type ImportProgress = Narrowed<Answer<"ProgressView">, { stage: "reading" | "comparing" | "storing" }>;

export type PairingToken = Answer<"PairingTokenView">;
export type DeviceView = Answer<"DeviceView">;
/** A device that asks to be paired. Its members about a known device are absent if the server does not know the device. */
export type PairingRequestView = Schemas["PairingRequestView"];
export type ImportedLog = Answer<"ImportedLogView">;

export type Occupancy = Answer<"OccupancyView">;
export type GateOccupancy = Answer<"GateOccupancy">;
/** A person who came through a door: an item of `GET /events/{id}/arrivals` and of the stream's `arrivals`. */
export type ArrivalView = Answer<"ArrivalView">;
export type Statistics = Answer<"StatisticsView">;
export type MinuteRow = Answer<"MinuteView">;
export type Quarters = Answer<"QuartersView">;
/** The figures of one gate in one quarter of an hour. Quarters without any scan are absent. */
export type QuarterRow = Quarters["quarters"][number];

export type IncidentScan = Narrowed<Answer<"IncidentScanView">, { role: "entry" | "double_entry" | "subject" }>;
export type IncidentView = Narrowed<Answer<"IncidentView">, { scans: IncidentScan[] }>;
export type IncidentCounts = Answer<"IncidentCountsView">;
export type ResolvedMany = Answer<"ResolvedManyView">;
/** A scan as its device wrote it. */
export type ScanView = Answer<"ScanView">;
