/** @module Reads dates and times in notations in which the order of day and month is unambiguous. */

const TEXT_MAX_CHARS = 40
const DIGIT_FIRST = /^\d/
const YEAR_LAST = /\d{4}$/
const ISO =
  /^(\d{4})[-/](\d{2})[-/](\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: ?(Z|z|UTC|[+-]\d{2}(?::?\d{2})?))?)?$/
const DOTTED = /^(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})$/
const SLASHED = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$/
const DAY_FIRST = /^(?:[A-Z][a-z]{2,8},? )?(\d{1,2})(?:st|nd|rd|th|\.)?(?: of)?[ -]([A-Za-z]{3,9})\.?,?[ -](\d{4})$/
const MONTH_FIRST = /^(?:[A-Z][a-z]{2,8}, )?([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$/
const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])\.?[Mm]\.?)?$/

const MONTHS: readonly string[] = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]

export interface TimeReading {
  /** `day` has no time of day, `local` no zone, `clock` no day. */
  readonly kind: 'day' | 'instant' | 'local' | 'clock'
  /** Canonical text: equal if and only if two times of one kind are equal. */
  readonly text: string
  /** Milliseconds, for comparison within one kind. */
  readonly ms: number
}

/** Undefined if the text is not a date, or an ambiguous one (05/06/2024). Expects a text returned by `plainText`. */
export function readTime(text: string): TimeReading | undefined {
  if (text.length > TEXT_MAX_CHARS || text.length < 4) return undefined
  return DIGIT_FIRST.test(text) ? readNumeric(text) : readNamed(text)
}

function readNumeric(text: string): TimeReading | undefined {
  const iso = ISO.exec(text)
  if (iso !== null) return readIso(iso)
  const clock = CLOCK.exec(text)
  if (clock !== null) return readClock(clock)
  const dotted = DOTTED.exec(text)
  if (dotted !== null) return dayOf(dotted[3], dotted[2], dotted[1])
  const slashed = SLASHED.exec(text)
  return slashed === null ? readNamed(text) : readSlashed(slashed)
}

/** Reads a day with a named month, which ends with the year. */
function readNamed(text: string): TimeReading | undefined {
  if (!YEAR_LAST.test(text)) return undefined
  const dayFirst = DAY_FIRST.exec(text)
  if (dayFirst !== null) return dayOf(dayFirst[3], monthOf(dayFirst[2]), dayFirst[1])
  const monthFirst = MONTH_FIRST.exec(text)
  return monthFirst === null ? undefined : dayOf(monthFirst[3], monthOf(monthFirst[1]), monthFirst[2])
}

function readIso([, year, month, day, hour, minute, second = '00', fraction = '', zone]: RegExpExecArray):
  | TimeReading
  | undefined {
  const date = dayOf(year, month, day)
  if (date === undefined || hour === undefined || minute === undefined) return date
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const ms = date.ms + seconds * 1000
  const rest = fraction.replace(/0+$/, '')
  const withRest = { ms: ms + Number(`0.${rest || '0'}`) * 1000 }
  if (zone === undefined) return { kind: 'local', text: `${ms}.${rest}`, ...withRest }
  const offsetMs = offsetOf(zone)
  return { kind: 'instant', text: `${ms - offsetMs}.${rest}`, ms: withRest.ms - offsetMs }
}

function offsetOf(zone: string): number {
  if (zone === 'UTC' || zone === 'Z' || zone === 'z') return 0
  const digits = zone.slice(1).replace(':', '')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || '0')
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000
}

function readClock([, hour = '', minute = '', second = '00', half]: RegExpExecArray): TimeReading | undefined {
  const twelve = half !== undefined
  let hours = Number(hour)
  if (hours > (twelve ? 12 : 23) || (twelve && hours === 0) || Number(minute) > 59 || Number(second) > 59)
    return undefined
  if (twelve) hours = (hours % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
  const seconds = hours * 3600 + Number(minute) * 60 + Number(second)
  return { kind: 'clock', text: `${seconds}`, ms: seconds * 1000 }
}

/** The day is identified only if one of the two numbers is greater than 12. */
function readSlashed([, first, second, year]: RegExpExecArray): TimeReading | undefined {
  if (Number(first) > 12) return dayOf(year, second, first)
  return Number(second) > 12 ? dayOf(year, first, second) : undefined
}

function monthOf(name = ''): string | undefined {
  const lower = name.toLowerCase()
  const place = MONTHS.findIndex(
    (month) => month === lower || month.slice(0, 3) === lower || (lower === 'sept' && month === 'september'),
  )
  return place < 0 ? undefined : `${place + 1}`
}

function dayOf(year: string | undefined, month: string | undefined, day: string | undefined): TimeReading | undefined {
  if (year === undefined || month === undefined || day === undefined) return undefined
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const date = new Date(ms)
  if (date.getUTCMonth() + 1 !== Number(month) || date.getUTCDate() !== Number(day)) return undefined
  return { kind: 'day', text: `${ms}`, ms }
}
