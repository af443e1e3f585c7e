//! Planted bugs: each proves that a checker can fail. Chosen at run time, and only where the feature `mutants` is on;
//! without it every question is answered no at compile time.

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident = $word:literal),* $(,)?) => {
        /// A planted bug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutant { $($(#[$doc])* $name),* }
        impl Mutant {
            /// Every one.
            pub const ALL: &'static [Mutant] = &[$(Mutant::$name),*];
            /// Its name on the command line.
            pub fn word(self) -> &'static str {
                match self { $(Mutant::$name => $word),* }
            }
        }
    };
}

mutants! {
    /// The server orders scans by their arrival.
    ArrivalOrder = "arrival_order",
    /// The server acknowledges before it commits; a kill loses what it acknowledged last.
    AckBeforeCommit = "ack_before_commit",
    /// A scan id taken by one organisation is taken for all.
    ScanIdAcrossTenants = "scan_id_across_tenants",
    /// A repeated batch is worked on again instead of answered again.
    BatchForgotten = "batch_forgotten",
    /// A batch id with other content is answered as if it were the same.
    BatchReuseAnswered = "batch_reuse_answered",
    /// A batch id is not scoped to its device.
    BatchUnscoped = "batch_unscoped",
    /// A wrong signature verifies.
    SignatureUnchecked = "signature_unchecked",
    /// Scans of a revoked device count.
    RevokedCounts = "revoked_counts",
    /// Practice counts like any other scan.
    PracticeCounts = "practice_counts",
    /// Days have no beginning: what is daily is once for all.
    DaysForgotten = "days_forgotten",
    /// Zones have no limits of their own.
    LimitsForgotten = "limits_forgotten",
    /// A guest added at a door has no ticket.
    WalkInsForgotten = "walk_ins_forgotten",
    /// People without a ticket are counted nowhere.
    HeadcountsForgotten = "headcounts_forgotten",
    /// A witness of a lost future is ignored.
    WitnessIgnored = "witness_ignored",
    /// `log-status` lacks nothing.
    NothingMissing = "nothing_missing",
    /// Now and then a scan is acknowledged but not stored.
    AckWithoutStore = "ack_without_store",
    /// A rule changes no ticket that was scanned before it.
    RuleWithoutRefold = "rule_without_refold",
    /// A ticket made late does not take the scans of its code.
    ImportWithoutRefold = "import_without_refold",
    /// The server counts a scan's persons once too often when it arrives twice.
    RepeatCounts = "repeat_counts",
    /// A resolved incident never opens again.
    ResolvedForEver = "resolved_for_ever",
    /// Received sequence numbers are taken up to the highest.
    GapsForgotten = "gaps_forgotten",
    /// The phone's journal is committed relaxed: reported, not flushed.
    RelaxedJournal = "relaxed_journal",
    /// The phone shows before the journal has it.
    ShowBeforeDurable = "show_before_durable",
    /// The phone takes any 4xx for a receipt.
    DeleteOn4xx = "delete_on_4xx",
    /// The phone takes a portal's page for a receipt.
    PortalIsReceipt = "portal_is_receipt",
    /// The journal's last row is gone after a restart.
    LastRowLost = "last_row_lost",
    /// The same phone alters a scan on its way out.
    ScanAltered = "scan_altered",
    /// A change now and then has two lines in the ledger.
    LineTwice = "line_twice",
    /// The place of an item that could not be read counts as missing.
    RefusedIsMissing = "refused_is_missing",
    /// The phone keeps its lists after it was revoked.
    NotWiped = "not_wiped",
    /// The phone shows a verdict by an expired list as if it were none.
    ExpiredIsPlain = "expired_is_plain",
    /// A process that dies leaves half of its transaction behind.
    TornCommit = "torn_commit",
    /// The intake of a webhook loses its id: each try is another message.
    WebhookIdLost = "webhook_id_lost",
    /// The mail server is given each letter twice.
    MailTwice = "mail_twice",
    /// The shelf says that it has a picture and does not keep it.
    PictureNotKept = "picture_not_kept",
    /// Two runs of one seed differ.
    HiddenRandomness = "hidden_randomness",
}

impl Mutant {
    /// The lowest level at which there is what it breaks: the store and the office begin with level 1.
    pub fn level(self) -> u8 {
        match self {
            Self::TornCommit | Self::WebhookIdLost | Self::MailTwice | Self::PictureNotKept => 1,
            _ => 0,
        }
    }
    /// Whether a violation of this invariant is what finds it: any, but for those that were planted for one checker.
    pub fn breaks(self, invariant: &str) -> bool {
        match self {
            Self::TornCommit => invariant == "I6",
            Self::WebhookIdLost => invariant == "I21",
            Self::MailTwice | Self::PictureNotKept => invariant == "I22",
            _ => true,
        }
    }
    /// The mutant of a name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.word() == word)
    }
}

/// Which bug is planted, if any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Planted(Option<Mutant>);

impl Planted {
    /// Plants a bug. Without the feature nothing can be planted.
    pub fn new(mutant: Option<Mutant>) -> Self {
        if cfg!(feature = "mutants") { Self(mutant) } else { Self(None) }
    }
    /// Whether this bug is planted.
    pub fn is(self, mutant: Mutant) -> bool {
        cfg!(feature = "mutants") && self.0 == Some(mutant)
    }
}
