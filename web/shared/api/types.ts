/**
 * The shapes of the organiser's API, by the names that the pages use. `npm run types` generates them from `openapi.json`,
 * which a test of the server compares with what the server prints. Times are RFC 3339, UTC.
 */
import type { components, operations } from "../../generated/api.ts";

type Schemas = components["schemas"];

/** The document calls a member optional where it may be null. The server's answers always hold it. */
type Always<T> = { [Member in keyof T]-?: Always<T[Member]> };
type Answer<Name extends keyof Schemas> = Always<Schemas[Name]>;
/** Narrows members whose words the document names in prose only. A member that the document does not have is an error. */
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
/** Columns of the sender's table; `null` is not read. The server's answers always name the row's id. */
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
/** A guest, and where they stand. */
export type GuestView = Narrowed<Answer<"StandingGuestView">, Mailed>;
export type ShownGuest = Narrowed<Answer<"ShownGuestView">, Mailed>;
export type GuestState = NonNullable<NonNullable<operations["get_api_events_id_guests"]["parameters"]["query"]>["state"]>;
export type GuestCounts = Answer<"GuestCountsView">;
export type GuestListView = Answer<"GuestListView">;
/** Passes of many guests, sent again: numbers of guests. */
export type ResentMany = Answer<"ResentView">;
export type CheckInAnswer = Answer<"CheckInView">;
export type MomentView = Narrowed<
  Answer<"MomentView">,
  { what: "added" | "changed" | "received" | "row_deleted" | "resent" | "remade" | "opened" | "entered" | "refused" | "left" | "undone" | "erased" }
>;

/** A run: one pass on its way to one guest. */
export type RunView = Answer<"RunView">;
export type RunWithSteps = Answer<"RunWithStepsView">;

/** What a person says about a file of guests. A member that is left out is guessed, or asked about. */
export interface ImportMapping {
  /** `#` and a column's number from 1, to what it is, or `ignore`. */
  columns?: Record<string, string>;
  /** A status word of the file to what it means. */
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
/** What an import did, or would do. The document calls `mapping` an object and names no members. */
export type ImportResult = Narrowed<Omit<Answer<"ImportResult">, "mapping">, ImportLists> & { mapping: ImportMapping };
export type PastImport = Answer<"ImportView">;
export type UndoneImport = Answer<"UndoneView">;
export type ImportProgress = Narrowed<Answer<"ProgressView">, { stage: "reading" | "comparing" | "storing" }>;

export type PairingToken = Answer<"PairingTokenView">;
export type DeviceView = Answer<"DeviceView">;
/** A device that asks to be let in. The server leaves out the members of a known device where it knows none. */
export type PairingRequestView = Schemas["PairingRequestView"];
export type ImportedLog = Answer<"ImportedLogView">;

export type Occupancy = Answer<"OccupancyView">;
export type GateOccupancy = Answer<"GateOccupancy">;
/** Somebody at a door: `GET /events/{id}/arrivals`, and the stream's `arrivals`. */
export type ArrivalView = Answer<"ArrivalView">;
export type Statistics = Answer<"StatisticsView">;
export type MinuteRow = Answer<"MinuteView">;
export type Quarters = Answer<"QuartersView">;
/** A gate's quarter hour in which anything happened. */
export type QuarterRow = Quarters["quarters"][number];

export type IncidentScan = Narrowed<Answer<"IncidentScanView">, { role: "entry" | "double_entry" | "subject" }>;
export type IncidentView = Narrowed<Answer<"IncidentView">, { scans: IncidentScan[] }>;
export type IncidentCounts = Answer<"IncidentCountsView">;
export type ResolvedMany = Answer<"ResolvedManyView">;
/** A scan as its device wrote it. */
export type ScanView = Answer<"ScanView">;
