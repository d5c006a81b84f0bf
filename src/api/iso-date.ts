const MINUS = 0x2d;
const PLUS = 0x2b;
const COLON = 0x3a;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * Parses an ISO 8601 date; returns ms since 1970, or NaN if it is invalid.
 *
 * `YYYY-MM-DD`, optionally with a time (`hh:mm`, seconds and a fraction of any length optional) and an offset (`Z`,
 * `+hh`, `+hhmm`, `+hh:mm`). The default time is midnight, the default offset UTC. Digits beyond the millisecond are
 * truncated. `bytes[end]` is the closing quote, or past the end.
 */
export function parseIsoDate(bytes: Uint8Array, start: number, end: number): number {
  const midnight = dayAt(bytes, start);
  let at = start + 10;
  let ms = midnight;
  if (isTimeMark(bytes[at])) {
    const hour = twoDigits(bytes, at + 1);
    const minute = bytes[at + 3] === COLON ? twoDigits(bytes, at + 4) : -1;
    at += 6;
    const hasSeconds = bytes[at] === COLON;
    const second = hasSeconds ? twoDigits(bytes, at + 1) : 0;
    if (hasSeconds) at += 3;
    const fractionEnd = hasSeconds ? skipFraction(bytes, at) : at;
    const timeMs = (hour * 60 + minute) * MINUTE_MS + second * 1000 + fractionMs(bytes, at, fractionEnd);
    at = fractionEnd;
    // 24:00 is the end of the day, and the latest valid time
    const isReal = hour >= 0 && minute >= 0 && second >= 0 && minute < 60 && second < 60;
    if (!isReal || (hour >= 24 && timeMs !== DAY_MS)) return Number.NaN;
    ms += timeMs;
  }
  if (at === end || (at === end - 1 && isZulu(bytes[at]))) return ms;
  return ms - offsetMinutes(bytes, at, end) * MINUTE_MS;
}

/** `T`, `t`, or the space that databases write. */
function isTimeMark(byte: number | undefined): boolean {
  return byte === 0x54 || byte === 0x74 || byte === 0x20;
}

function isZulu(byte: number | undefined): boolean {
  return byte === 0x5a || byte === 0x7a;
}

/** Midnight of the day, NaN if the date is invalid. */
function dayAt(bytes: Uint8Array, at: number): number {
  const century = twoDigits(bytes, at);
  const ofCentury = twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  if (bytes[at + 4] !== MINUS || bytes[at + 7] !== MINUS) return Number.NaN;
  const year = century * 100 + ofCentury;
  if (century < 0 || ofCentury < 0 || month < 1 || month > 12) return Number.NaN;
  return day < 1 || day > daysIn(year, month) ? Number.NaN : daysSince1970(year, month, day) * DAY_MS;
}

/** The position after an optional fraction at `at`; -1 if its separator has no digits. */
function skipFraction(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== 0x2e && bytes[at] !== 0x2c) return at;
  let i = at + 1;
  while (digitAt(bytes, i) >= 0) i++;
  return i > at + 1 ? i : -1;
}

function fractionMs(bytes: Uint8Array, start: number, end: number): number {
  let ms = 0;
  let unit = 100;
  for (let i = start + 1; i < end && unit >= 1; i++) {
    ms += digitAt(bytes, i) * unit;
    unit /= 10;
  }
  return ms;
}

function offsetMinutes(bytes: Uint8Array, at: number, end: number): number {
  const sign = bytes[at] === PLUS ? 1 : bytes[at] === MINUS ? -1 : 0;
  const hour = twoDigits(bytes, at + 1);
  if (sign === 0 || hour < 0 || hour > 23) return Number.NaN;
  if (at + 3 === end) return sign * hour * 60;
  const minuteAt = bytes[at + 3] === COLON ? at + 4 : at + 3;
  const minute = twoDigits(bytes, minuteAt);
  return minute < 0 || minute > 59 || minuteAt + 2 !== end ? Number.NaN : sign * (hour * 60 + minute);
}

/** The value of two digits, or -1. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = digitAt(bytes, at);
  const ones = digitAt(bytes, at + 1);
  return tens < 0 || ones < 0 ? -1 : tens * 10 + ones;
}

function digitAt(bytes: Uint8Array, at: number): number {
  const digit = (bytes[at] ?? 0) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : -1;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Howard Hinnant's days_from_civil, shifted by 400 years so that nothing is negative; the year starts in March. */
function daysSince1970(year: number, month: number, day: number): number {
  const y = (month <= 2 ? year - 1 : year) + 400;
  const era = (y / 400) | 0;
  const yearOfEra = y - era * 400;
  const dayOfYear = (((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) | 0) + day - 1;
  const dayOfEra = yearOfEra * 365 + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468 - 146_097;
}
