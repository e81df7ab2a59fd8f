// Names, which are data, never paths; and other text forms.

const MOST: usize = 200; // characters

/// Makes a name from a client's text.
pub fn clean(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last.chars().filter(|c| !c.is_control()).collect();
    let cut: String = kept.trim().chars().take(MOST).collect();
    match cut.trim() {
        "" | "." | ".." => "image".into(),
        name => name.into(),
    }
}

/// The Content-Disposition of a name: one form for old clients, one for all characters.
pub fn disposition(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if word(c) || c == ' ' { c } else { '_' })
        .collect();
    let all = escaped(name);
    format!("inline; filename=\"{plain}\"; filename*=UTF-8''{all}")
}

/// A text with all bytes in percent form, except unreserved characters.
pub fn escaped(text: &str) -> String {
    text.bytes()
        .map(|b| {
            if word(b.into()) || b == b'~' {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
}

/// The value of a query's parameter, decoded; invalid UTF-8 becomes U+FFFD.
pub fn parameter(query: &str, name: &str) -> Option<String> {
    let (_, value) = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .find(|(key, _)| *key == name)?;
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after
            .get(..2)
            .and_then(|h| std::str::from_utf8(h).ok())
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
        rest = after;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Milliseconds since 1970 as 2026-11-22T07:20:11.123Z. Days are counted from 1 March of the year
/// 0, so that leap days come last (Hinnant, chrono-compatible low-level date algorithms).
pub fn time(ms: i64) -> String {
    let (days, ms) = (
        ms.div_euclid(86_400_000) + 719_468,
        ms.rem_euclid(86_400_000),
    );
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153; // from March
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, early) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let (year, s) = (era * 400 + year + early, ms / 1_000);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        s / 3_600,
        s / 60 % 60,
        s % 60,
        ms % 1_000
    )
}

/// Reads the form that time writes.
pub fn moment(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (year, month) = if month > 2 {
        (year, month - 3) // from March
    } else {
        (year - 1, month + 9)
    };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let minutes = days * 1_440 + part(11, 13)? * 60 + part(14, 16)?;
    let ms = (minutes * 60 + part(17, 19)?) * 1_000 + part(20, 23)?;
    (time(ms) == text).then_some(ms)
}
