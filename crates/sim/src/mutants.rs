//! Planted bugs, each of which proves that a checker can fail. They are chosen at run time, and only with the feature
//! `mutants`. Without the feature the compiler removes all code that asks whether a bug is chosen.

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// A planted bug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutant { $($(#[$doc])* $name),* }
        impl Mutant {
            /// All planted bugs.
            pub const ALL: &'static [Mutant] = &[$(Mutant::$name),*];
            /// The bug's name on the command line.
            pub fn word(self) -> &'static str {
                match self { $(Mutant::$name => $word),* }
            }
        }
    };
}

mutants! {
    /// The server orders scans by their arrival.
    ArrivalOrder = "arrival_order",
    /// The server acknowledges before it commits, and a kill loses the newest acknowledged scans.
    AckBeforeCommit = "ack_before_commit",
    /// A scan id of one organisation blocks the same id in all others.
    ScanIdAcrossTenants = "scan_id_across_tenants",
    /// The server processes a repeated batch again, instead of sending the stored answer.
    BatchForgotten = "batch_forgotten",
    /// The server answers a batch id with other content as if the content were the same.
    BatchReuseAnswered = "batch_reuse_answered",
    /// A batch id is not scoped to its device.
    BatchUnscoped = "batch_unscoped",
    /// A wrong signature verifies.
    SignatureUnchecked = "signature_unchecked",
    /// Scans of a revoked device count.
    RevokedCounts = "revoked_counts",
    /// Practice counts like any other scan.
    PracticeCounts = "practice_counts",
    /// Days never begin: a limit per day is a limit for the whole event.
    DaysForgotten = "days_forgotten",
    /// Zones have no limits of their own.
    LimitsForgotten = "limits_forgotten",
    /// A guest added at a door gets no ticket.
    WalkInsForgotten = "walk_ins_forgotten",
    /// People without a ticket are not counted.
    HeadcountsForgotten = "headcounts_forgotten",
    /// The server ignores a witness that it lacks.
    WitnessIgnored = "witness_ignored",
    /// `log-status` reports nothing missing.
    NothingMissing = "nothing_missing",
    /// Sometimes a scan is acknowledged but not stored.
    AckWithoutStore = "ack_without_store",
    /// A new rule does not change tickets that were scanned before it.
    RuleWithoutRefold = "rule_without_refold",
    /// A ticket that is imported late does not get the earlier scans of its code.
    ImportWithoutRefold = "import_without_refold",
    /// The server counts a scan's persons twice when it arrives twice.
    RepeatCounts = "repeat_counts",
    /// A resolved incident never opens again.
    ResolvedForEver = "resolved_for_ever",
    /// The server treats all sequence numbers up to the highest as received.
    GapsForgotten = "gaps_forgotten",
    /// The phone's journal is committed relaxed: reported but not flushed.
    RelaxedJournal = "relaxed_journal",
    /// The phone shows a verdict before the journal has the scan.
    ShowBeforeDurable = "show_before_durable",
    /// The phone treats any 4xx as a receipt.
    DeleteOn4xx = "delete_on_4xx",
    /// The phone treats a captive portal's page as a receipt.
    PortalIsReceipt = "portal_is_receipt",
    /// The journal's last row is lost in a restart.
    LastRowLost = "last_row_lost",
    /// The phone alters a scan when it uploads it.
    ScanAltered = "scan_altered",
    /// A change sometimes has two lines in the ledger.
    LineTwice = "line_twice",
    /// The place of an unreadable item counts as missing.
    RefusedIsMissing = "refused_is_missing",
    /// The phone keeps its lists after it was revoked.
    NotWiped = "not_wiped",
    /// The phone shows a verdict by an expired list without a warning.
    ExpiredIsPlain = "expired_is_plain",
    /// A process that dies leaves half of its transaction behind.
    TornCommit = "torn_commit",
    /// The server forgets webhook ids, so each try counts as another message.
    WebhookIdLost = "webhook_id_lost",
    /// The mail server gets each letter twice.
    MailTwice = "mail_twice",
    /// The object store reports a picture as stored and does not store it.
    PictureNotKept = "picture_not_kept",
    /// Two runs of one seed differ.
    HiddenRandomness = "hidden_randomness",
}

impl Mutant {
    /// The lowest level at which the bug can exist. Bugs in a store, a webhook or a mail need level 1, because level 0
    /// has none of these.
    pub fn level(self) -> u8 {
        match self {
            Self::TornCommit | Self::WebhookIdLost | Self::MailTwice | Self::PictureNotKept => 1,
            _ => 0,
        }
    }
    /// Whether a violation of this invariant counts as finding the bug. Every violation counts, except for bugs that
    /// were planted to test one checker.
    pub fn breaks(self, invariant: &str) -> bool {
        match self {
            Self::TornCommit => invariant == "I6",
            Self::WebhookIdLost => invariant == "I21",
            Self::MailTwice | Self::PictureNotKept => invariant == "I22",
            _ => true,
        }
    }
    /// The bug with this name; `None` if there is none.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.word() == word)
    }
}

/// The planted bug; `None` inside if none is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Planted(Option<Mutant>);

impl Planted {
    /// Plants a bug. Without the feature `mutants` this does nothing.
    pub fn new(mutant: Option<Mutant>) -> Self {
        if cfg!(feature = "mutants") { Self(mutant) } else { Self(None) }
    }
    /// Whether this bug is planted.
    pub fn is(self, mutant: Mutant) -> bool {
        cfg!(feature = "mutants") && self.0 == Some(mutant)
    }
}
