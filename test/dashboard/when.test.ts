import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { instantOf, isZone } from '../../src/dashboard/when.ts'

const test = suite('dashboard: times as people type them')

const NOW = Date.parse('2026-03-29T10:15:30.000Z')
const at = (text: string, zone = 'UTC') => instantOf(text, { nowMs: NOW, zone })

test('a day, a time, a word and how long ago are read in UTC', () => {
  assert.equal(
    [
      '2026-01-31',
      '2026-01-31T12:30',
      '2026-01-31 12:30:15.25',
      'today',
      'yesterday',
      '7d',
      '24h',
      '90m',
      '2w',
      'now',
    ].map((text) => at(text)),
    [
      ...['2026-01-31T00:00:00.000Z', '2026-01-31T12:30:00.000Z', '2026-01-31T12:30:15.250Z'],
      ...['2026-03-29T00:00:00.000Z', '2026-03-28T00:00:00.000Z', '2026-03-22T10:15:30.000Z'],
      ...[
        '2026-03-28T10:15:30.000Z',
        '2026-03-29T08:45:30.000Z',
        '2026-03-15T10:15:30.000Z',
        '2026-03-29T10:15:30.000Z',
      ],
    ],
  )
})

test('what names no zone is in the reader\u2019s, over the change of clocks; what names one is in that', () => {
  assert.is(at('2026-07-01', 'Europe/Berlin'), '2026-06-30T22:00:00.000Z')
  assert.is(at('2026-01-01T12:00', 'Europe/Berlin'), '2026-01-01T11:00:00.000Z')
  assert.is(at('today', 'Europe/Berlin'), '2026-03-28T23:00:00.000Z')
  assert.is(at('2026-03-30', 'Europe/Berlin'), '2026-03-29T22:00:00.000Z')
  assert.is(at('today', 'Pacific/Auckland'), '2026-03-28T11:00:00.000Z')
  assert.is(at('2026-07-01T00:00', '-03:30'), '2026-07-01T03:30:00.000Z')
  assert.is(at('2026-07-01T00:00+02:00', 'Asia/Tokyo'), '2026-06-30T22:00:00.000Z')
  assert.is(at('2026-07-01T00:00Z', 'Asia/Tokyo'), '2026-07-01T00:00:00.000Z')
})

test('what is no time is none, and a zone that nobody knows is no zone', () => {
  for (const text of ['', 'soon', '2026-02-31', '2026-13-01', '2026-01-01T25:00', '7', '7x', '999999d', '31.01.2026'])
    assert.is(at(text), undefined, text)
  assert.equal(['UTC', 'Europe/Berlin', '+05:45', 'Mars/Olympus', '', 'x'.repeat(99)].map(isZone), [
    true,
    true,
    true,
    false,
    false,
    false,
  ])
})

function wallOf(instant: number, timeZone: string): string {
  const style = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const
  const parts = new Intl.DateTimeFormat('en-US', { ...style, hourCycle: 'h23', timeZone }).formatToParts(instant)
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? ''
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}`
}

test('a time in any zone is read as the instant that its clocks show', () => {
  const zones = fc.constantFrom('UTC', '+05:45', '-08:00', 'Asia/Kolkata', 'America/New_York', 'Australia/Lord_Howe')
  const days = fc.integer({ min: 0, max: 20_000 }).filter((day) => day % 365 > 130 && day % 365 < 240)
  fc.assert(
    fc.property(zones, days, fc.nat(1_439), (zone, day, minute) => {
      const wall = new Date(day * 86_400_000 + minute * 60_000).toISOString().slice(0, 16)
      const instant = Date.parse(instantOf(wall, { nowMs: NOW, zone }) ?? '')
      const offset = /^[+-]/.test(zone)
      const shown = offset ? instantOf(`${wall}${zone}`, { nowMs: NOW, zone: 'UTC' }) : wallOf(instant, zone)
      assert.is(shown, offset ? new Date(instant).toISOString() : wall)
    }),
  )
})

test.run()
