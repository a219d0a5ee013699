/** @module The rows P1 to P5 from their samples. */
import { type RatioSpec, type Row, ratioRow } from './report.ts'
import type { Samples } from './statistics.ts'

const RATE = 'envelopes/s'

const SPECS: readonly RatioSpec[] = [
  {
    id: 'P1',
    what: 'posts of 64 envelopes, 8 clients ÷ raw, 64 envelopes a transaction',
    unit: RATE,
    over: ['batch', 'raw batch'],
    floor: 0.4,
    target: 0.6,
  },
  {
    id: 'P2',
    what: 'single envelopes, 64 clients ÷ raw, one envelope a transaction',
    unit: RATE,
    over: ['single', 'raw one'],
    floor: 1.5,
    target: 2.5,
  },
  {
    id: 'P3',
    what: 'single envelopes, 64 clients ÷ the route echoing after zod',
    unit: RATE,
    over: ['single', 'echo'],
    floor: 0.45,
    target: 0.6,
  },
  {
    id: 'P4 p50',
    what: 'one client, p50 ÷ raw p50, one envelope a transaction',
    unit: 'µs',
    over: ['one p50', 'raw one p50'],
    floor: 4,
    target: 2.5,
    bound: 'at-most',
  },
  {
    id: 'P4 p99',
    what: 'one client, p99 ÷ p99 of append and fdatasync',
    unit: 'µs',
    over: ['one p99', 'sync p99'],
    floor: 15,
    target: 6,
    bound: 'at-most',
  },
  {
    id: 'P5',
    what: 'single envelopes, 64 clients, with tokens ÷ any token taken unread',
    unit: RATE,
    over: ['single', 'open'],
    floor: 0.8,
    target: 0.9,
  },
]

/** The rows whose samples were taken. */
export function httpRows(samples: Samples): readonly Row[] {
  return SPECS.filter(({ over }) => over.every((name) => samples.has(name))).map((spec) => ratioRow(samples, spec))
}
