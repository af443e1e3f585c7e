//! Names as guest lists really have them: many alphabets, long and short, with marks and apostrophes.

/// Given name, family name; the first hundred parts combine to some thousands of guests.
pub(super) const GIVEN: &[&str] = &[
    "Amélie", "Noah", "Zoë", "Liam", "Chiara", "Mateo", "Ingrid", "Oluwaseun", "Siobhán", "Jürgen", "Åsa", "Nguyễn", "Xiùyīng",
    "Fatima", "Kofi", "Priya", "Tomáš", "Łucja", "Dimitra", "Yusuf", "Aroha", "Mihai", "Ximena", "Björn", "Thandiwe", "Hélène",
    "Sean", "Marta", "Emre", "Aiko", "Ravi", "Lerato", "Joana", "Niamh", "Piet", "Anneke", "Sipho", "Ewa", "Goran", "Ilse",
    "María José", "Jean-Luc", "O’Neal", "Renée", "Óscar", "Þórunn", "Kaia", "Imran", "Gwendolyn", "Ana",
];

/// Family names.
pub(super) const FAMILY: &[&str] = &[
    "Brânză", "Müller", "García Márquez", "O’Connor", "van der Merwe", "Nkosi", "Kowalczyk", "Đorđević", "Şahin", "Björnsdóttir",
    "Smith", "Jones-Whitaker", "Okonkwo", "Dlamini", "Papadopoulou", "Nováková", "de Souza", "D’Angelo", "Lindqvist", "Haddad",
    "Fernández", "Trần", "Wójcik", "Botha", "Mbeki", "Ionescu", "Çelik", "Ó Murchú", "Sánchez", "Rasmussen", "Petrov", "Silva",
    "Schäfer", "Lefèvre", "Horvat", "Kaplan", "Mensah", "Tamm", "Vestergaard", "Zięba", "Iyer", "Chowdhury", "Nakamura", "Quispe",
    "Le Roux", "Abebe", "Moreau", "Székely", "Jovanović", "Papa",
];

/// Whole names in other scripts.
pub(super) const WHOLE: &[&str] = &[
    "山田 太郎", "王秀英", "김민준", "Мария Иванова", "Ελένη Παπαδοπούλου", "محمد الأحمد", "יעל כהן", "अनन्या शर्मा", "ณัฐวุฒิ ใจดี",
    "นิดา", "Анна Шевченко", "فاطمه رضایی", "李小龙", "박서연", "தமிழ்செல்வி", "გიორგი ბერიძე", "Նարեկ Սարգսյան", "佐藤 花子", "Nguyễn Văn An", "សុខា",
];
