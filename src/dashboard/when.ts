/** @module Parsing of times as people type them: a day, a time in a zone, or an age. */

export interface Clock {
  readonly nowMs: number
  /** `UTC`, a name such as `Europe/Berlin`, or an offset such as `+02:00`. */
  readonly zone: string
}

export const TIMES_TAKEN = 'give a time such as 2026-01-31, 2026-01-31T12:00, today or 7d'

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const AGO = /^(\d{1,5})([mhdw])$/
const WALL = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/
const OFFSET = /^([+-])(\d\d):(\d\d)$/

/** The time in RFC 3339, UTC; undefined for a text that is no time. A time without a zone is in the clock's zone. */
export function instantOf(text: string, clock: Clock): string | undefined {
  const ms = msOf(text.trim(), clock)
  if (ms === undefined || Math.abs(ms) > MOST_MS) return undefined
  return new Date(ms).toISOString()
}

/** Limit that keeps the year at four digits in every zone. */
const MOST_MS = Date.UTC(9998, 0)

function msOf(text: string, clock: Clock): number | undefined {
  if (text === 'now') return clock.nowMs
  if (text === 'today') return startOfDay(0, clock)
  if (text === 'yesterday') return startOfDay(-1, clock)
  const [, amount, unit] = AGO.exec(text) ?? []
  if (amount !== undefined) return clock.nowMs - Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS]
  const [, day, minutes = '00:00', seconds = ':00', zone] = WALL.exec(text) ?? []
  if (day === undefined) return undefined
  const wallMs = Date.parse(`${day}T${minutes}${seconds}Z`)
  // `Date.parse` reads 31 February as a day in March.
  if (Number.isNaN(wallMs) || new Date(wallMs).toISOString().slice(0, 10) !== day) return undefined
  return fromWall(wallMs, zone ?? clock.zone)
}

function startOfDay(days: number, { nowMs, zone }: Clock): number {
  const wallMs = nowMs + offsetMs(zone, nowMs)
  const midnight = Math.floor(wallMs / UNITS_MS.d) * UNITS_MS.d
  return fromWall(midnight + days * UNITS_MS.d, zone)
}

/** Converts the local time of a zone, given as if it were UTC. For an hour that occurs twice, the result is one of the two. */
function fromWall(wallMs: number, zone: string): number {
  const near = wallMs - offsetMs(zone, wallMs)
  return wallMs - offsetMs(zone, near)
}

/** Offset of the zone in milliseconds, positive to the east. */
function offsetMs(zone: string, atMs: number): number {
  if (zone === 'UTC' || zone === 'Z') return 0
  const [, sign, hours, minutes] = OFFSET.exec(zone) ?? []
  if (sign !== undefined) return (sign === '-' ? -1 : 1) * (Number(hours) * UNITS_MS.h + Number(minutes) * UNITS_MS.m)
  const text = formatOf(zone).format(atMs)
  const [, month, day, year, hour, minute, second] = (/(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)/.exec(text) ?? []).map(
    Number,
  )
  const wallMs = Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second)
  return wallMs - Math.floor(atMs / 1_000) * 1_000
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const two = '2-digit'
  return new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
    ...{ year: 'numeric', month: two, day: two, hour: two, minute: two, second: two },
  })
}

export function isZone(zone: string): boolean {
  if (OFFSET.test(zone)) return true
  try {
    formatOf(zone)
    return true
  } catch {
    return false
  }
}
