/**
 * @module The damages of the truth oracle: what somebody with the data folder can do, on SQLite directly. Each is one class; where in its class it
 * strikes is drawn.
 */
import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { LossyStore } from '../support/lossy-store.ts'
import { pick } from '../support/random.ts'
import type { History } from './truth-oracle-history.ts'
import type { Acknowledged } from './truth-oracle-model.ts'

export interface Strike {
  readonly data: string
  /** The store of the case, where it is on a server. */
  readonly server?: LossyStore | undefined
  readonly history: History
  readonly random: () => number
  /** The run that is struck. */
  readonly tenant: string
  readonly run: string
}

export type Hand = (strike: Strike) => void | Promise<void>

/**
 * `before`: on the folder while nobody has it open. `beside`: on the store while a ledger has it open. `putBack`: after the first, a ledger was opened, asked
 * and closed; then this is done, and everything is there again.
 */
export interface Damage {
  readonly before?: Hand
  readonly beside?: Hand
  readonly putBack?: Hand
  /** That ledger signed no checkpoint. */
  readonly isUnsigned?: true
  /** After that: every loss that the ledger names is acknowledged, in a process of its own, and checkpoints are signed. */
  readonly acknowledged?: true
  /** After the acknowledgement. */
  readonly afterwards?: Hand
  /** The history goes on until some runs are archived, and one of these is struck. */
  readonly archived?: true
  /** An archive is elsewhere, which is no fault (LIFE-56): what needs it is refused, and what speaks of faults alone says nothing. */
  readonly isAway?: true
  /** Names the run that it is for, where it is not any. */
  readonly run?: 'c' | 'd'
  /** What is left is, byte for byte, an earlier honest state. */
  readonly untellable?: true
  /** The whole store went back, its own word of where it ended too: of what was lost, only what log.db had followed is known to anybody. */
  readonly isKnownToLogOnly?: true
  /** Nothing is wrong in the end: every exit must answer, and `verify` say so. */
  readonly sound?: true
}

type Change = (db: Sqlite.Database, strike: Strike) => void

/** Without the triggers that refuse it, which are there again afterwards. */
function onFile(path: string, change: (db: Sqlite.Database) => void): void {
  const db = new Sqlite(path)
  try {
    db.pragma('foreign_keys = OFF')
    // Otherwise SQLite keeps the tables of an index of words from being written.
    db.unsafeMode()
    db.transaction(() => {
      const triggers = db
        .prepare<[], { name: string; sql: string }>(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`)
        .all()
      for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
      change(db)
      for (const { sql } of triggers) db.exec(sql)
    }).immediate()
  } finally {
    db.close()
  }
}

const inStore =
  (change: Change) =>
  (strike: Strike): void =>
    onFile(`${strike.data}/store.db`, (db) => change(db, strike))

export const inFile =
  (name: string, sql: string) =>
  ({ data }: Strike): void =>
    onFile(`${data}/${name}`, (db) => db.exec(sql))

export type Choice = (strike: Strike) => Acknowledged

export const eventsOf = ({ history, tenant, run }: Strike): readonly Acknowledged[] => history.model.ofRun(tenant, run)
export const first: Choice = (strike) => eventsOf(strike)[0] as Acknowledged
export const last: Choice = (strike) => eventsOf(strike).at(-1) as Acknowledged
/** Neither the first nor the last event of the run. */
const middle =
  (isCovered: boolean): Choice =>
  (strike) => {
    const { history, random, tenant } = strike
    const covered = new Set(history.model.leaves(tenant).slice(0, history.covered.get(tenant)))
    return pick(
      random,
      eventsOf(strike)
        .slice(1, -1)
        .filter((event) => covered.has(event) === isCovered),
    )
  }
export const covered = middle(true)
export const behind = middle(false)

function remove(db: Sqlite.Database, { position }: Acknowledged): void {
  db.prepare('DELETE FROM events WHERE position = ?').run(position)
}

const deleted = (choice: Choice) => inStore((db, strike) => remove(db, choice(strike)))

/** One digit or letter of the text becomes another one. */
export function otherText(text: string, random: () => number): string {
  const places = [...text.matchAll(/[a-z0-9]{3,}/g)].map((match) => match.index)
  const at = pick(random, places)
  return `${text.slice(0, at)}${text[at] === 'z' ? 'y' : 'z'}${text.slice(at + 1)}`
}

const altered = (column: 'data' | 'header', choice: Choice) =>
  inStore((db, strike) => {
    const event = choice(strike)
    const text = otherText(event[column], strike.random)
    db.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(text, event.position)
  })

const streamId = (db: Sqlite.Database, stream: string): number =>
  Number(db.prepare('SELECT id FROM streams WHERE name = ?').pluck().get(stream))

interface Slipped {
  readonly stream: string
  readonly header: string
  readonly data: string
  readonly salt: string
}

/** As the next event of a stream. */
function slipIn(db: Sqlite.Database, { stream, header, data, salt }: Slipped): void {
  db.prepare(
    `INSERT INTO events (position, stream_id, revision, header, salt, data)
     SELECT (SELECT max(position) + 1 FROM events), id, (SELECT max(revision) + 1 FROM events WHERE stream_id = streams.id), ?, ?, ?
     FROM streams WHERE name = ?`,
  ).run(header, Buffer.from(salt, 'base64url'), data, stream)
}

const doubled = inStore((db, strike) => slipIn(db, behind(strike)))

const forged = inStore((db, strike) => {
  const event = last(strike)
  const header = JSON.stringify({ ...JSON.parse(event.header), revision: event.revision + 1 })
  slipIn(db, { ...event, header })
})

const moved = inStore((db, strike) => {
  const event = last(strike)
  const other = strike.history.model.runs(strike.tenant).find((run) => run !== strike.run && !run.endsWith('-d')) ?? ''
  remove(db, event)
  slipIn(db, { ...event, stream: `run-${strike.tenant}.${other}` })
})

const renamed = inStore((db, { tenant, run }) => {
  db.prepare('UPDATE streams SET name = ? WHERE name = ?').run(`run-${tenant}.${run}x`, `run-${tenant}.${run}`)
})

const swapped = inStore((db, strike) => {
  const [one, other] = [behind(strike), last(strike)]
  const put = db.prepare('UPDATE events SET header = ?, salt = ?, data = ? WHERE position = ?')
  put.run(other.header, Buffer.from(other.salt, 'base64url'), other.data, one.position)
  put.run(one.header, Buffer.from(one.salt, 'base64url'), one.data, other.position)
})

const runGone = inStore((db, { tenant, run }) => {
  const id = streamId(db, `run-${tenant}.${run}`)
  db.prepare('DELETE FROM events WHERE stream_id = ?').run(id)
  db.prepare('DELETE FROM streams WHERE id = ?').run(id)
})

const checkpointGone = inStore((db, { history, tenant }) => {
  const signed = history.model.events.filter((each) => each.tenant === tenant && each.type === 'CheckpointSigned')
  remove(db, signed.at(-1) as Acknowledged)
})

/** The end of the whole store, behind the last checkpoint of every log; at least the last event of each tenant. */
const tailCut = inStore((db, { history, random }) => {
  const end = history.model.events.at(-1)?.position ?? 0
  db.prepare('DELETE FROM events WHERE position > ?').run(end - 2 - Math.floor(random() * 3))
})

export const DERIVED = ['log.db', 'audit.db', 'views.db']

export const removed =
  (...names: readonly string[]) =>
  ({ data }: Strike): void => {
    for (const name of names)
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${data}/${name}${suffix}`, { force: true })
  }

const rolledBack =
  (...names: readonly string[]) =>
  (strike: Strike): void => {
    removed(...names)(strike)
    for (const name of names) {
      for (const suffix of ['', '-wal']) {
        const from = `${strike.history.early}/${name}${suffix}`
        if (existsSync(from)) cpSync(from, `${strike.data}/${name}${suffix}`)
      }
    }
  }

const halved =
  (name: string) =>
  ({ data }: Strike): void => {
    const path = `${data}/${name}`
    const db = new Sqlite(path)
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
    truncateSync(path, Math.floor(statSync(path).size / 2 / 4_096) * 4_096)
  }

const WAL_HEADER = 32
const FRAME = 24 + 4_096

/** At the end of a transaction some way before the last, of each tenant one is behind it: a frame of a commit names the size of the database. */
function walCut({ data, random }: Strike): void {
  const path = `${data}/store.db-wal`
  const wal = readFileSync(path)
  const salt = wal.subarray(16, 24)
  const commits: number[] = []
  for (let at = WAL_HEADER; at + FRAME <= wal.length; at += FRAME) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break
    if (wal.readUInt32BE(at + 4) > 0) commits.push(at + FRAME)
  }
  truncateSync(path, commits.at(-3 - Math.floor(random() * 3)) ?? WAL_HEADER)
}

const all =
  (...parts: readonly ((strike: Strike) => void)[]) =>
  (strike: Strike): void => {
    for (const part of parts) part(strike)
  }

/** The row as it was acknowledged. */
const restored = (choice: Choice) =>
  inStore((db, strike) => {
    const { position, stream, revision, header, salt, data } = choice(strike)
    db.prepare('DELETE FROM events WHERE position = ?').run(position)
    db.prepare('INSERT INTO events (position, stream_id, revision, header, salt, data) VALUES (?, ?, ?, ?, ?, ?)').run(
      position,
      streamId(db, stream),
      revision,
      header,
      Buffer.from(salt, 'base64url'),
      data,
    )
  })

/** Of the index of words, which keeps no text: a row is taken out by the text that it was put in by. */
const WORDS_TAKEN = `INSERT INTO audit_text (audit_text, rowid, tenant, body) SELECT 'delete', seq, '', 'harvest' FROM events WHERE type = 'EnvelopeAccepted'`

const madeForeign = ({ tenant, run }: Strike): string =>
  `INSERT INTO foreign_streams (stream) VALUES ('run-${tenant}.${run}'); DELETE FROM events WHERE run = '${run}'`

const streamGone = ({ tenant, run }: Strike): string => `DELETE FROM log_streams WHERE stream = 'run-${tenant}.${run}'`

/** Behind the end of each log; the columns are those of its last leaf. */
const LEAF_ADDED =
  'INSERT INTO leaves SELECT log, max(idx) + 1, stream, revision + 1, position + 1, randomblob(16) FROM leaves GROUP BY log'
const LEAVES_SWAPPED =
  'UPDATE leaves SET idx = idx + 1000000 WHERE idx IN (2, 3); UPDATE leaves SET idx = 1000005 - idx WHERE idx > 999999'
const LEAVES_MOVED = 'UPDATE leaves SET position = position - 1 WHERE idx > 2'

const renamedAway = ({ data }: Strike): void => {
  for (const suffix of ['', '-wal', '-shm']) renameSync(`${data}/store.db${suffix}`, `${data}/away.db${suffix}`)
}

export const DAMAGES: Readonly<Record<string, Damage>> = {
  none: { sound: true },
  'none, killed and opened twice': { putBack: () => undefined, sound: true },
  'body changed, behind the checkpoint': { before: altered('data', behind) },
  'body changed, covered': { before: altered('data', covered) },
  'header changed, behind the checkpoint': { before: altered('header', behind) },
  'header changed, covered': { before: altered('header', covered) },
  'first event changed, covered': { before: altered('data', first), run: 'c' },
  'first event changed, behind the checkpoint': { before: altered('data', first), run: 'd' },
  'first event deleted, covered': { before: deleted(first) },
  'last event deleted, behind the checkpoint': { before: deleted(last) },
  'last event deleted, covered': { before: deleted(last), run: 'c' },
  'last event deleted, covered, derived files removed': { before: all(deleted(last), removed(...DERIVED)), run: 'c' },
  'last event deleted, behind, derived files removed': { before: all(deleted(last), removed(...DERIVED)) },
  'middle event deleted, behind the checkpoint': { before: deleted(behind) },
  'middle event deleted, covered': { before: deleted(covered) },
  'run deleted, covered': { before: runGone, run: 'c' },
  'run deleted, behind the checkpoint': { before: runGone, run: 'd' },
  'event doubled': { before: doubled },
  'event forged': { before: forged },
  'event moved to another run': { before: moved },
  'run renamed': { before: renamed },
  'events swapped': { before: swapped },
  'record of the checkpoint deleted': { before: checkpointGone },
  'end of the store cut': { before: tailCut, run: 'd' },
  'end of the store cut, derived files removed': {
    before: all(tailCut, removed(...DERIVED)),
    run: 'd',
    untellable: true,
  },
  'log of the store cut at a transaction': { untellable: true, before: walCut, run: 'd' },
  'store rolled back': { before: rolledBack('store.db') },
  'folder rolled back': { before: rolledBack('store.db', 'store.db.checkpoints', ...DERIVED), untellable: true },
  'log.db: a leaf deleted': { before: inFile('log.db', 'DELETE FROM leaves WHERE idx = 3') },
  'log.db: a tile changed': { before: inFile('log.db', 'UPDATE tiles SET hashes = zeroblob(length(hashes))') },
  'log.db removed': { before: removed('log.db') },
  'log.db rolled back': { before: rolledBack('log.db') },
  'log.db cut': { before: halved('log.db') },
  'audit.db: words emptied': {
    before: inFile('audit.db', `INSERT INTO audit_text (audit_text) VALUES ('delete-all')`),
  },
  'audit.db: a row deleted': { before: inFile('audit.db', 'DELETE FROM events WHERE seq = 4') },
  'audit.db removed': { before: removed('audit.db') },
  'audit.db rolled back': { before: rolledBack('audit.db') },
  'audit.db cut': { before: halved('audit.db') },
  'views.db: a run deleted': { before: inFile('views.db', `DELETE FROM runs WHERE run_id LIKE '%-a'`) },
  'views.db removed': { before: removed('views.db') },
  'views.db rolled back': { before: rolledBack('views.db') },
  'checkpoints of the process removed': { before: removed('store.db.checkpoints') },
  'body changed, signed, put back': { before: altered('data', behind), putBack: restoredAll, sound: true },
  'last event deleted, signed, put back': { before: deleted(last), putBack: restored(last), sound: true },
  'acknowledged: body changed, behind the checkpoint': { before: altered('data', behind), acknowledged: true },
  'acknowledged: body changed, covered, log.db removed': {
    before: all(altered('data', covered), removed('log.db')),
    acknowledged: true,
  },
  'acknowledged: header changed, covered': { before: altered('header', covered), acknowledged: true },
  'acknowledged: last event deleted, behind the checkpoint': { before: deleted(last), acknowledged: true },
  'acknowledged: body changed, log.db removed afterwards': {
    before: altered('data', behind),
    acknowledged: true,
    afterwards: removed('log.db'),
  },
  'acknowledged: body changed, then another event': {
    before: altered('data', behind),
    acknowledged: true,
    afterwards: altered('data', last),
  },
  'acknowledged: store rolled back': { before: rolledBack('store.db'), acknowledged: true, isKnownToLogOnly: true },
  'live: body changed, covered': { beside: altered('data', covered) },
  'live: body changed, behind the checkpoint': { beside: altered('data', behind) },
  'live: last event deleted, behind the checkpoint': { beside: deleted(last) },
  'live: last event deleted, covered': { beside: deleted(last), run: 'c' },
  'live: run deleted': { beside: runGone, run: 'c' },
  'live: end of the store cut': { beside: tailCut, run: 'd' },
  'live: words of audit.db emptied': {
    beside: inFile('audit.db', `INSERT INTO audit_text (audit_text) VALUES ('delete-all')`),
  },
  'audit.db: rows changed': {
    before: inFile('audit.db', `UPDATE events SET type = 'RunRewound', call = NULL WHERE seq % 3 = 1`),
  },
  'audit.db: charges deleted': { before: inFile('audit.db', 'DELETE FROM charges; DELETE FROM spend_sums') },
  'audit.db: a run made foreign': { before: (strike) => inFile('audit.db', madeForeign(strike))(strike) },
  'audit.db: words of a row taken out': { before: inFile('audit.db', WORDS_TAKEN) },
  'audit.db: parts of the words deleted': { before: inFile('audit.db', 'DELETE FROM audit_text_data WHERE id > 10') },
  'audit.db: parts of the words blanked': {
    before: inFile('audit.db', 'UPDATE audit_text_data SET block = zeroblob(length(block)) WHERE id > 10'),
  },
  'log.db: leaves changed': { before: inFile('log.db', 'UPDATE leaves SET revision = revision + 1 WHERE idx > 2') },
  'log.db: events of leaves changed': {
    before: inFile('log.db', 'UPDATE leaves SET event = zeroblob(length(event)) WHERE idx > 2'),
  },
  'log.db: a stream deleted': { before: (strike) => inFile('log.db', streamGone(strike))(strike) },
  'log.db: a log cut short': { before: inFile('log.db', 'UPDATE logs SET size = size - 3') },
  'log.db: a head changed': {
    before: inFile('log.db', 'UPDATE stream_heads SET events = events - 1 WHERE events > 2'),
  },
  'log.db: a tile deleted': { before: inFile('log.db', 'DELETE FROM tiles') },
  'live: rows of audit.db deleted': { beside: inFile('audit.db', 'DELETE FROM events WHERE seq % 3 = 1') },
  'live: leaves of log.db changed': {
    beside: inFile('log.db', 'UPDATE leaves SET revision = revision + 1 WHERE idx > 2'),
  },
  'log.db: a leaf added': { before: inFile('log.db', LEAF_ADDED) },
  'log.db: leaves swapped': { before: inFile('log.db', LEAVES_SWAPPED) },
  'log.db: positions of leaves changed': { before: inFile('log.db', LEAVES_MOVED) },
  'live: a leaf of log.db deleted, another added': {
    beside: inFile('log.db', `${LEAF_ADDED}; DELETE FROM leaves WHERE idx = 3`),
  },
  'live: positions of leaves of log.db changed': { beside: inFile('log.db', LEAVES_MOVED) },
  'live: store.db renamed': { beside: renamedAway },
  'live: store.db replaced': { beside: all(renamedAway, rolledBack('store.db')) },
}

/** Every event of the run whose row is another one. */
function restoredAll(strike: Strike): void {
  for (const event of eventsOf(strike)) restored(() => event)(strike)
}
