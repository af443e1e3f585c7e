//! The names that columns have, in English, German, French, Spanish, Italian, Dutch and Portuguese.
//!
//! Only the letters and digits of a header are compared, in lower case and without accents: `E-Mail`, `Prénom`,
//! `ORDER_NUMBER`.

use admit_core::normalize::for_search;

use super::column::Column;

/// A header in the form in which it is compared.
pub fn folded(name: &str) -> String {
    for_search(name).chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The meaning of a column with this header, in the form of [`folded`], whatever its cells hold. `None` if the header
/// is unknown.
pub fn meaning(header: &str) -> Option<Column> {
    let own = Column::ALL.iter().find(|(_, name)| folded(name) == header).map(|(column, _)| *column);
    // Only the user says which column is a guest's own field.
    own.filter(|column| *column != Column::Field)
        .or_else(|| WORDS.iter().find(|(_, words)| words.contains(&header)).map(|(column, _)| *column))
}

/// Whether a header is a word that is used for a row's own id, and also for a code that guests share. Such a column is
/// the ticket's code only if no two persons share a value.
pub fn is_vague_code(header: &str) -> bool {
    ["code", "token", "serial", "serialnumber", "codigo", "codice", "nummer", "numero", "number"].contains(&header)
}

/// The words for each column: English, German, French, Spanish, Italian, Dutch, Portuguese.
#[rustfmt::skip]
const WORDS: &[(Column, &[&str])] = &[
    (Column::Barcode, &[
        "code", "ticketcode", "qr", "qrcode", "token", "ticketbarcode", "serial", "serialnumber", "barcodenumber",
        "ticketnumber", "ticketno", "ticketid", "tickettoken", "qrcodevalue", "qrcodedata", "barcodevalue",
        "ticketnummer", "eintrittscode", "strichcode", "kartennummer", "ticketcodeqr", "codebarres", "codebarre",
        "codeabarres", "numerodebillet", "numerobillet", "nbillet", "codebillet", "codeqr", "codigo",
        "codigodebarras", "codigoqr", "numerodeentrada", "numerodeboleto", "codice", "codiceabarre",
        "codicebiglietto", "numerobiglietto", "codigodoingresso", "numerodoingresso", "streepjescode", "kaartnummer",
    ]),
    (Column::Name, &[
        "guest", "guestname", "fullname", "attendee", "attendeename", "holder", "ticketholder", "participant",
        "participantname", "visitor", "visitorname", "nameofguest", "yourname", "yourfullname", "namefull",
        "attendeefullname", "ticketholdername", "person", "membername", "invitee", "inviteename", "gast", "gastname",
        "gaste", "gastename", "teilnehmer", "teilnehmername", "vollstandigername", "ganzername", "namevorname",
        "vornamename", "vornamenachname", "vorundnachname", "nachnamevorname", "vornameundname",
        "vornameundnachname", "ihrname", "nom", "nomcomplet", "nometprenom", "nomprenom", "prenometnom", "prenomnom",
        "invite", "nomdelinvite", "convive", "nombre", "nombrecompleto", "nombreyapellidos", "nombreyapellido",
        "asistente", "invitado", "nombredelinvitado", "nome", "nomecompleto", "nomeesobrenome", "convidado",
        "nomedoconvidado", "participante", "nominativo", "nomeecognome", "cognomeenome", "ospite", "partecipante",
        "nomedellospite", "naam", "volledigenaam", "gastnaam", "deelnemer", "naamgast",
    ]),
    (Column::FirstName, &[
        "givenname", "forename", "firstname", "first", "given", "attendeefirstname", "guestfirstname",
        "yourfirstname", "ticketfirstname", "vorname", "vornamen", "rufname", "prenom", "prenoms",
        "prenomparticipant", "prenomdelinvite", "prenomdelacheteur", "nombredepila", "primernombre", "primeironome",
        "nomeproprio", "voornaam", "voornamen", "roepnaam",
    ]),
    (Column::LastName, &[
        "surname", "familyname", "lastname", "last", "family", "attendeelastname", "guestlastname", "yourlastname",
        "secondname", "nachname", "familienname", "zuname", "nomdefamille", "nomparticipant", "apellido",
        "apellidos", "primerapellido", "cognome", "achternaam", "familienaam", "sobrenome", "apelido", "apelidos",
        "ultimonome",
    ]),
    (Column::Email, &[
        "emailaddress", "mail", "mailaddress", "attendeeemail", "guestemail", "emailaddr", "youremail",
        "youremailaddress", "contactemail", "emailid", "primaryemail", "ticketemail", "participantemail",
        "emailadresse", "mailadresse", "ihreemail", "ihreemailadresse", "courriel", "adressemail", "adresseemail",
        "adressecourriel", "adresseelectronique", "mel", "emailparticipant", "correo", "correoelectronico",
        "direcciondecorreoelectronico", "direcciondecorreo", "correoe", "postaelettronica", "indirizzoemail",
        "indirizzomail", "indirizzodipostaelettronica", "emailadres", "mailadres", "enderecodeemail",
        "enderecoemail", "correioeletronico",
    ]),
    (Column::OtherEmail, &[
        "orderemail", "buyeremail", "purchaseremail", "bookeremail", "payeremail", "customeremail", "billingemail",
        "emailpayeur", "emailacheteur", "emaildelacheteur", "kaufermail", "kauferemail", "bestelleremail",
        "emailbesteller", "emailkaufer", "emailcomprador", "emailacquirente", "emailkoper",
    ]),
    (Column::Phone, &[
        "phonenumber", "mobile", "mobilephone", "mobilenumber", "tel", "telephone", "telephonenumber", "cell",
        "cellphone", "attendeephone", "contactnumber", "telefon", "telefonnummer", "handy", "handynummer", "mobil",
        "mobilnummer", "mobiltelefon", "rufnummer", "numerodetelephone", "numerotelephone", "portable",
        "telephoneportable", "telephonemobile", "telefono", "telefonomovil", "movil", "numerodetelefono",
        "cellulare", "numeroditelefono", "telefoonnummer", "telefoon", "mobiel", "gsm", "telemovel", "celular",
        "telefone", "numerodetelefone", "whatsapp",
    ]),
    (Column::PartySize, &[
        "party", "persons", "people", "pax", "guests", "admits", "quantity", "qty", "groupsize", "entrylimit",
        "count", "numberofguests", "numberofpeople", "numberofpersons", "noofguests", "noofpeople", "seats",
        "places", "headcount", "tickets", "numberoftickets", "partyof", "admit", "totalguests", "ticketquantity",
        "ticketsquantity", "personen", "anzahl", "anzahlpersonen", "personenanzahl", "personenzahl", "anzahlgaste",
        "gasteanzahl", "menge", "anzahltickets", "platze", "anzahlplatze", "kopfe", "nombredeplaces", "nbplaces",
        "nbdeplaces", "nombredepersonnes", "nbpersonnes", "nbdepersonnes", "personnes", "quantite", "nombredinvites",
        "nombredebillets", "couverts", "personas", "numerodepersonas", "cantidad", "plazas", "numerodeplazas",
        "numerodeinvitados", "entradas", "persone", "numerodipersone", "quantita", "posti", "numeroposti",
        "numerodiposti", "numeroospiti", "aantal", "aantalpersonen", "personenaantal", "plaatsen", "aantalplaatsen",
        "aantalgasten", "pessoas", "numerodepessoas", "quantidade", "lugares", "numerodelugares",
        "numerodeconvidados",
    ]),
    (Column::Zone, &[
        "area", "section", "accesszone", "bereich", "sektor", "zona", "zonedacces", "settore", "vak", "sector",
    ]),
    (Column::EntryType, &[
        "tickettype", "type", "category", "product", "ticketname", "ticket", "tariff", "tickettypename",
        "productname", "ticketclass", "admissiontype", "tickettitle", "registrationtype", "passtype", "rate",
        "tickettyp", "ticketart", "kategorie", "ticketkategorie", "kartenart", "kartentyp", "produkt",
        "eintrittsart", "typdebillet", "typedebillet", "categorie", "tarif", "nomdutarif", "formule", "produit",
        "typedeticket", "tipodeentrada", "tipo", "categoria", "tarifa", "producto", "tipodeboleto", "tipodeticket",
        "tipodibiglietto", "tipobiglietto", "tariffa", "prodotto", "tickettype", "soortticket", "kaartsoort",
        "tickettypes", "categorie", "tipodeingresso", "produto", "tipodebilhete",
    ]),
    (Column::GateIds, &[
        "gates", "gate", "gateid", "entrance", "entrances", "eingang", "entree", "ingresso", "ingang",
    ]),
    (Column::GuestList, &[
        "list", "listname", "guestlistname", "gasteliste", "liste", "listedinvites", "lista", "listadeinvitados",
        "listaospiti", "gastenlijst", "lijst", "listadeconvidados", "promoter", "group", "groupname",
    ]),
    (Column::OrderId, &[
        "order", "ordernumber", "orderno", "ordercode", "bookingid", "booking", "reference", "bookingreference",
        "orderreference", "bookingnumber", "bookingref", "orderref", "transactionid", "purchaseid", "reservation",
        "reservationid", "confirmationnumber", "confirmationcode", "bestellnummer", "bestellung", "buchungsnummer",
        "buchung", "auftragsnummer", "bestellcode", "commande", "numerodecommande", "referencecommande",
        "referencedecommande", "reservationnumero", "numerodereservation", "pedido", "numerodepedido", "reserva",
        "numerodereserva", "localizador", "ordine", "numeroordine", "numerodordine", "prenotazione",
        "numeroprenotazione", "bestelling", "boeking", "boekingsnummer", "encomenda", "numerodopedido",
    ]),
    (Column::Position, &[
        "pos", "orderposition", "positionid", "item", "lineitem", "posten", "positionsnummer", "posicion",
        "posizione", "positie", "posicao",
    ]),
    (Column::ExternalId, &[
        "id", "guestid", "attendeeid", "externalref", "ref", "registrationid", "recordid", "rowid", "uid", "uuid",
        "contactid", "memberid", "membernumber", "customerid", "employeeid", "personid", "mitgliedsnummer",
        "kundennummer", "personalnummer", "numerodadherent", "numeroadherent", "idinvite", "idinvitado",
        "numerodesocio", "matricola", "lidnummer", "klantnummer",
    ]),
    (Column::ValidFrom, &[
        "notbefore", "startsat", "validfromdate", "validitystart", "gultigab", "gultigvon", "valableapartirdu",
        "valabledu", "valideapartirdu", "validodesde", "validoda", "validodal", "geldigvanaf", "validoapartirde",
    ]),
    (Column::ExpiresAt, &[
        "validuntil", "validto", "validtill", "expires", "expiry", "expirydate", "expirationdate", "notafter",
        "endsat", "validityend", "gultigbis", "ablaufdatum", "valablejusquau", "validejusquau", "expiration",
        "expirele", "validohasta", "caducidad", "fechadecaducidad", "validofinoal", "validofinoa", "scadenza",
        "geldigtot", "vervaldatum", "validoate", "validade",
    ]),
    (Column::Status, &[
        "state", "ticketstatus", "approvalstatus", "attendeestatus", "orderstatus", "bookingstatus", "rsvp",
        "rsvpstatus", "registrationstatus", "paymentstatus", "zusage", "bestellstatus", "zahlungsstatus",
        "buchungsstatus", "statut", "etat", "statutdelacommande", "statutcommande", "statutdubillet", "estado",
        "estadodelpedido", "estadodepago", "stato", "statoordine", "statopagamento", "betaalstatus",
        "estadodopagamento", "situacao", "response", "antwort", "reponse", "respuesta", "risposta",
    ]),
    (Column::Note, &[
        "notes", "comment", "comments", "remark", "remarks", "notiz", "notizen", "bemerkung", "bemerkungen",
        "anmerkung", "anmerkungen", "kommentar", "hinweis", "commentaire", "commentaires", "remarque", "remarques",
        "nota", "notas", "comentario", "comentarios", "observaciones", "osservazioni", "commento", "opmerking",
        "opmerkingen", "notitie", "observacoes", "observacao",
    ]),
    (Column::Flag, &[
        "doorflag", "alert", "warnung", "alerte", "alerta", "avviso",
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_written_as_it_is_compared_and_means_one_column() {
        let mut wrong = Vec::new();
        for (at, (column, words)) in WORDS.iter().enumerate() {
            for word in *words {
                let others = WORDS[..at].iter().filter(|(_, words)| words.contains(word));
                if folded(word) != *word || others.count() > 0 {
                    wrong.push((column.name(), *word));
                }
                let own = Column::of_name(word).filter(|own| own != column);
                assert_eq!(own, None, "{word}");
            }
        }
        assert_eq!(wrong, [], "written otherwise, or twice");
    }

    #[test]
    fn headers_are_known_in_every_language_and_however_they_are_written() {
        for (header, column) in [
            ("E-Mail", Column::Email),
            ("Party Size", Column::PartySize),
            ("ORDER_NUMBER", Column::OrderId),
            ("Ticket type", Column::EntryType),
            ("Vorname", Column::FirstName),
            ("Prénom", Column::FirstName),
            ("Prenom", Column::FirstName),
            ("Nombre de places", Column::PartySize),
            ("Nombre", Column::Name),
            ("Código de barras", Column::Barcode),
            ("Gültig bis", Column::ExpiresAt),
            ("Numéro de billet", Column::Barcode),
            ("Cognome", Column::LastName),
            ("Adresse e-mail", Column::Email),
        ] {
            assert_eq!(meaning(&folded(header)), Some(column), "{header}");
        }
        assert_eq!(meaning("shoesize"), None);
    }
}
