/** @module The flags of `npm run bench`: what to measure, and for how long. */
import { parseArgs } from 'node:util'

export interface BenchOptions {
  /** Ids of rows, or their beginnings (`P4`, `P7`); empty for all. */
  readonly only: readonly string[]
  /** Length of one measurement under load, in seconds. */
  readonly seconds: number
  readonly rounds: number
  /** Everything once and for a moment: shows that the bench runs, but yields no meaningful figures. */
  readonly quick: boolean
  readonly json: boolean
  /** Sizes of stores, in events: only the growth table is made. */
  readonly scale: readonly number[]
  /** The stores of `scale` are copied to a PostgreSQL server and queried there. */
  readonly postgres: boolean
  /** Folder in which the stores of `scale` are kept and found again; if empty, each is made again and removed. */
  readonly stores: string
  /** Folder for temporary stores; its disk is the one that is measured. */
  readonly folder: string
}

/** Upper limits: no measurement needs more, and a typing error should not load the machine for hours. */
const SECONDS_MAX = 60
const QUICK_SECONDS = 0.1
const ROUNDS_MAX = 20
const SCALE_MAX = 10_000_000

export const USAGE =
  'node dist/bench/main.js [--only P1,P5] [--seconds 3] [--rounds 3] [--json] | --quick [--only P1] [--json] | --scale 10000,100000 [--postgres] [--stores FOLDER]'

/** Throws `TypeError` for unknown flags, and for numbers out of range. */
export function readOptions(args: readonly string[], folder: string): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: '' },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      scale: { type: 'string', default: '' },
      postgres: { type: 'boolean', default: false },
      stores: { type: 'string', default: '' },
    },
  })
  return {
    only: listOf(values.only),
    quick: values.quick,
    seconds: values.quick ? QUICK_SECONDS : wholeNumber('seconds', values.seconds, SECONDS_MAX),
    rounds: values.quick ? 1 : wholeNumber('rounds', values.rounds, ROUNDS_MAX),
    json: values.json,
    scale: listOf(values.scale).map((size) => wholeNumber('scale', size, SCALE_MAX)),
    postgres: values.postgres,
    stores: values.stores,
    folder,
  }
}

function listOf(text: string): readonly string[] {
  return text.split(',').filter((each) => each !== '')
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1 && value <= max) return value
  throw new TypeError(`--${name} takes a whole number from 1 to ${max}`)
}

/** Whether any of `ids` is requested. */
export function isWanted({ only }: Pick<BenchOptions, 'only'>, ids: readonly string[]): boolean {
  return only.length === 0 || ids.some((id) => only.some((selected) => matches(id, selected)))
}

/** `P1` selects the row P1 and its variants (`P1 ...`), but not P11. */
export function matches(id: string, selected: string): boolean {
  return id === selected || id.startsWith(`${selected} `)
}
