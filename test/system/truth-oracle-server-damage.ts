/** @module The damages of the truth oracle to a store on a server: what somebody with access to its medium can do, with or without the data folder. */
import type { LossyStore, MediumRow } from '../support/lossy-store.ts'
import {
  behind,
  type Choice,
  covered,
  type Damage,
  DERIVED,
  eventsOf,
  first,
  type Hand,
  inFile,
  last,
  otherText,
  removed,
  type Strike,
} from './truth-oracle-damage.ts'
import type { OracleKind } from './truth-oracle-history.ts'
import type { Acknowledged } from './truth-oracle-model.ts'

const on = ({ server }: Strike): LossyStore => {
  if (server === undefined) throw new Error('the store is in a file')
  return server
}

const rowOf = ({ position, ...row }: Acknowledged): MediumRow => ({ ...row, at: String(position) })

const deleted =
  (choice: Choice): Hand =>
  (strike) =>
    on(strike).remove(rowOf(choice(strike)))

const returned =
  (choice: Choice): Hand =>
  (strike) =>
    on(strike).putBack(rowOf(choice(strike)))

const altered =
  (column: 'data' | 'header', choice: Choice): Hand =>
  (strike) => {
    const event = choice(strike)
    const text = column === 'data' ? '{"v":1,"note":"another"}' : otherHeader(event.header, strike.random)
    return on(strike).alter(rowOf(event), { [column]: text })
  }

/** A store that keeps JSON takes no other text. */
function otherHeader(header: string, random: () => number): string {
  const fields = JSON.parse(header) as Record<string, unknown>
  return JSON.stringify({ ...fields, mac: otherText(String(fields.mac), random) })
}

const restored =
  (choice: Choice): Hand =>
  (strike) => {
    const { header, data, ...event } = choice(strike)
    return on(strike).alter(rowOf({ header, data, ...event }), { header, data })
  }

const runGone: Hand = async (strike) => {
  for (const event of eventsOf(strike)) await on(strike).remove(rowOf(event))
}

const checkpointGone: Hand = (strike) => {
  const { model } = strike.history
  const signed = model.events.filter((each) => each.tenant === strike.tenant && each.type === 'CheckpointSigned')
  return on(strike).remove(rowOf(signed.at(-1) as Acknowledged))
}

/** An older copy, which lacks the last events of each tenant. */
const tailCut: Hand = (strike) => on(strike).rollBack(2 + Math.floor(strike.random() * 3))

const rolledBack: Hand = (strike) =>
  on(strike).rollBack(strike.history.model.events.length - strike.history.earlyModel.events.length)

const all =
  (...parts: readonly Hand[]): Hand =>
  async (strike) => {
    for (const part of parts) await part(strike)
  }

const ALL: Readonly<Record<string, Damage>> = {
  none: { sound: true },
  'body changed, behind the checkpoint': { before: altered('data', behind) },
  'body changed, covered': { before: altered('data', covered) },
  'header changed, behind the checkpoint': { before: altered('header', behind) },
  'header changed, covered, derived files removed': { before: all(altered('header', covered), removed(...DERIVED)) },
  'first event deleted, covered': { before: deleted(first) },
  'last event deleted, behind the checkpoint': { before: deleted(last) },
  'last event deleted, covered': { before: deleted(last), run: 'c' },
  'last event deleted, covered, derived files removed': { before: all(deleted(last), removed(...DERIVED)), run: 'c' },
  'middle event deleted, behind the checkpoint': { before: deleted(behind) },
  'middle event deleted, covered, derived files removed': { before: all(deleted(covered), removed(...DERIVED)) },
  'run deleted, covered': { before: runGone, run: 'c' },
  'run deleted, behind the checkpoint': { before: runGone, run: 'd' },
  'record of the checkpoint deleted': { before: checkpointGone },
  'end of the store cut': { before: tailCut, run: 'd' },
  'end of the store cut, derived files removed': {
    before: all(tailCut, removed(...DERIVED)),
    run: 'd',
    untellable: true,
  },
  'store rolled back': { before: rolledBack },
  'log.db removed': { before: removed('log.db') },
  'audit.db: a row deleted': { before: inFile('audit.db', 'DELETE FROM events WHERE seq = 4') },
  'body changed, signed, put back': { before: altered('data', behind), putBack: restored(behind), sound: true },
  'last event deleted, signed, put back': { before: deleted(last), putBack: returned(last), sound: true },
  'last event deleted, followed, put back': {
    before: deleted(last),
    putBack: returned(last),
    isUnsigned: true,
    sound: true,
  },
  'acknowledged: body changed, covered, log.db removed': {
    before: all(altered('data', covered), removed('log.db')),
    acknowledged: true,
  },
  'acknowledged: last event deleted, behind the checkpoint': { before: deleted(last), acknowledged: true },
  'acknowledged: body changed, then another event': {
    before: altered('data', behind),
    acknowledged: true,
    afterwards: altered('data', last),
  },
  'acknowledged: store rolled back': { before: rolledBack, acknowledged: true, isKnownToLogOnly: true },
  'live: body changed, behind the checkpoint': { beside: altered('data', behind) },
  'live: last event deleted, behind the checkpoint': { beside: deleted(last) },
  'live: last event deleted, covered': { beside: deleted(last), run: 'c' },
  'live: run deleted': { beside: runGone, run: 'c' },
}

/**
 * EventStoreDB: only the log of a ledger beside it knows the end of a stream, once it has followed it (STR-53). PostgreSQL: what one process wrote last,
 * with its rows, is attested by nothing that is left (STR-40).
 */
const UNTELLABLE_ON: Readonly<Partial<Record<OracleKind, readonly string[]>>> = {
  postgres: ['end of the store cut'],
  eventstoredb: [
    ...['last event deleted, behind the checkpoint', 'last event deleted, covered, derived files removed'],
    ...['run deleted, behind the checkpoint', 'end of the store cut'],
    'acknowledged: last event deleted, behind the checkpoint',
  ],
}

/** EventStoreDB: a checkpoint was signed while nothing knew the event (STR-53), and what is signed without it cannot hold with it (STR-54). */
const UNSOUND_ON: Readonly<Partial<Record<OracleKind, readonly string[]>>> = {
  eventstoredb: ['last event deleted, signed, put back'],
}

export function serverDamages(kind: OracleKind): Readonly<Record<string, Damage>> {
  const [untellable, unsound] = [UNTELLABLE_ON[kind] ?? [], UNSOUND_ON[kind] ?? []]
  return Object.fromEntries(
    Object.entries(ALL).map(([name, { sound, ...damage }]) => [
      name,
      {
        ...damage,
        ...(sound && !unsound.includes(name) && { sound }),
        ...(untellable.includes(name) && { untellable: true as const }),
      },
    ]),
  )
}
