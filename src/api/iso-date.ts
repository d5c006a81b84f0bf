const MINUS = 0x2d;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** A place in the bytes, and where they end. */
interface Reader {
  readonly bytes: Uint8Array;
  readonly end: number;
  at: number;
}

/**
 * The instant an ISO 8601 date names, in ms since 1970, or null where the text is not one.
 *
 * `YYYY-MM-DD`, alone or with a time (`hh:mm`, seconds and a fraction of any length optional) and an offset
 * (`Z`, `+hh`, `+hhmm`, `+hh:mm`). No time means midnight, no offset means UTC. Digits beyond the
 * millisecond are cut.
 */
export function parseIsoDate(bytes: Uint8Array, start: number, end: number): number | null {
  const reader: Reader = { bytes, end, at: start };
  const midnight = readDay(reader);
  if (midnight === null) return null;
  const timeMs = isTimeMark(reader) ? readTime(reader) : 0;
  if (timeMs === null) return null;
  const offsetMs = readOffset(reader);
  if (offsetMs === null || reader.at !== end) return null;
  return midnight + timeMs - offsetMs;
}

function readDay(reader: Reader): number | null {
  const year = readDigits(reader, 4);
  if (!take(reader, MINUS)) return null;
  const month = readDigits(reader, 2);
  if (!take(reader, MINUS)) return null;
  const day = readDigits(reader, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  return daysSince1970(year, month, day) * DAY_MS;
}

/** `T`, `t`, or the blank that databases write. */
function isTimeMark(reader: Reader): boolean {
  const byte = peek(reader);
  return byte === 0x54 || byte === 0x74 || byte === 0x20;
}

function readTime(reader: Reader): number | null {
  reader.at++;
  const hour = readDigits(reader, 2);
  if (!take(reader, 0x3a)) return null;
  const minute = readDigits(reader, 2);
  if (hour < 0 || minute < 0 || minute > 59) return null;
  let ms = (hour * 60 + minute) * MINUTE_MS;
  if (take(reader, 0x3a)) {
    const second = readDigits(reader, 2);
    if (second < 0 || second > 59) return null;
    const fraction = readFraction(reader);
    if (fraction === null) return null;
    ms += second * 1000 + fraction;
  }
  // 24:00 is the end of the day, and nothing comes after it
  return hour < 24 || ms === DAY_MS ? ms : null;
}

function readFraction(reader: Reader): number | null {
  if (!take(reader, 0x2e) && !take(reader, 0x2c)) return 0;
  const first = reader.at;
  let ms = 0;
  let unit = 100;
  for (let digit = digitAt(reader); digit >= 0; digit = digitAt(reader)) {
    ms += digit * unit;
    unit = unit > 1 ? unit / 10 : 0;
    reader.at++;
  }
  return reader.at > first ? ms : null;
}

function readOffset(reader: Reader): number | null {
  if (reader.at === reader.end || take(reader, 0x5a) || take(reader, 0x7a)) return 0;
  const sign = take(reader, 0x2b) ? 1 : take(reader, MINUS) ? -1 : 0;
  const hour = readDigits(reader, 2);
  if (sign === 0 || hour < 0 || hour > 23) return null;
  if (reader.at === reader.end) return sign * hour * 60 * MINUTE_MS;
  take(reader, 0x3a);
  const minute = readDigits(reader, 2);
  return minute < 0 || minute > 59 ? null : sign * (hour * 60 + minute) * MINUTE_MS;
}

/** The number of exactly `count` digits, or -1; the place moves only over digits. */
function readDigits(reader: Reader, count: number): number {
  let value = 0;
  for (let i = 0; i < count; i++) {
    const digit = digitAt(reader);
    if (digit < 0) return -1;
    value = value * 10 + digit;
    reader.at++;
  }
  return value;
}

function digitAt(reader: Reader): number {
  const digit = peek(reader) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : -1;
}

function take(reader: Reader, byte: number): boolean {
  if (peek(reader) !== byte) return false;
  reader.at++;
  return true;
}

function peek(reader: Reader): number {
  return reader.at < reader.end ? (reader.bytes[reader.at] ?? 0) : 0;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Howard Hinnant's days_from_civil: the year starts in March, so that leap days come last. */
function daysSince1970(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
