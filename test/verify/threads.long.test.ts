import { readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { CheckDepth } from '../../src/signing/check.ts'
import { dataDigest } from '../../src/signing/digests.ts'
import { headerMac, headerParts, sealedText } from '../../src/signing/seal.ts'
import { openRowScan } from '../../src/store/sqlite/row-scan.ts'
import type { VerifyFault } from '../../src/verify/fault.ts'
import { SoundChecks } from '../../src/verify/sound-checks.ts'
import type { SourcePages } from '../../src/verify/source-item.ts'
import { lookAtRows } from '../../src/verify/threads/look-at-rows.ts'
import type { RowRange } from '../../src/verify/threads/protocol.ts'
import { soundPages } from '../../src/verify/threads/sound-pages.ts'
import { verifyRecords } from '../../src/verify/verify-records.ts'
import { pick, seededRandom, testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { CALLER, type SmallStore, smallStore } from '../support/small-store.ts'
import { rowsOf, type StoreRow, tamper } from '../support/tamper.ts'
import { type Seen, throughThreads } from '../support/through-threads.ts'

const threads = suite<{ store: SmallStore; rows: readonly StoreRow[] }>('verify: several threads')

threads.before(async (context) => {
  context.store = await smallStore(async (ledger) => {
    const post = (run: string, command: Parameters<typeof ledger.execute>[2]) =>
      ledger.execute(CALLER, run, command, {})
    for (const run of ['one', 'two', 'three']) await post(run, { kind: 'start', body: { id: run, name: 'try' } })
    for (let at = 0; at < 4; at += 1)
      for (const run of ['one', 'two', 'three'])
        await post(run, { kind: 'envelope', body: { agent: 'researcher', payload: { note: `step ${at} \ufffd` } } })
    await post('two', { kind: 'claim', body: { tool: 'search', args: { q: 'x'.repeat(200_000) }, key: 'c1' } })
    await post('one', { kind: 'complete', body: { output: 'done' } })
    await ledger.discloseRunKeys(CALLER, 'one')
  })
  context.rows = rowsOf(context.store.path)
})
threads.after(({ store }) => store[Symbol.dispose]())

/** One and the same, but for whether others have looked at the rows before. */
async function judged(store: SmallStore, path: string, depth: CheckDepth, rangeRows?: number): Promise<Seen> {
  using scan = openRowScan({ path })
  using other = openRowScan({ path })
  const faults: VerifyFault[] = []
  const checks = new SoundChecks({ ring: store.keys.ring as never, runKeys: store.keys.runKeys, depth })
  const look = async (range: RowRange) => structuredClone(lookAtRows(other, checks, range))
  const pages: SourcePages =
    rangeRows === undefined ? scan.pages() : soundPages(scan, { threads: { count: 2, look }, checks, rangeRows })
  const result = await verifyRecords(pages, {
    keys: store.keys,
    depth,
    wholeStore: true,
    again: () => scan.pages(),
    onFault: (fault) => faults.push(fault),
  })
  return { result, faults }
}

/** A header changed by whoever has the keys. */
function sealedAnew({ keys }: SmallStore, row: StoreRow, change: JsonObject, data = row.data): string {
  const { mac: _, ...header } = JSON.parse(row.header) as JsonObject
  const changed = { ...header, dataDigest: dataDigest(row.salt, data), ...change, mac: '' } as never
  const parts = headerParts(changed)
  const { kid, tenant, stream } = changed as Record<'kid' | 'tenant' | 'stream', string>
  const key = keys.runKeys.keyFor(kid, tenant, stream)
  return key === undefined ? row.header : sealedText(parts, headerMac(parts, key))
}

type Change = (path: string, store: SmallStore, rows: readonly StoreRow[], random: () => number) => void

const write = (path: string, sql: string, ...values: unknown[]): void =>
  tamper(path, (db) => {
    try {
      db.prepare(sql).run(...values)
    } catch {
      // A place that is taken: then this change is none.
    }
  })

const someByte = (bytes: Buffer, random: () => number): Buffer => {
  const altered = Buffer.from(bytes)
  const at = Math.floor(random() * altered.length)
  altered[at] = (altered[at] ?? 0) ^ (1 << Math.floor(random() * 8))
  return altered
}

const setHeader = (path: string, row: StoreRow, header: string): void =>
  write(path, 'UPDATE events SET header = ? WHERE position = ?', header, row.position)

const CHANGES: readonly Change[] = [
  (path, _store, rows, random) => {
    const row = pick(random, rows)
    const column = pick(random, ['header', 'data'] as const)
    const bytes = someByte(Buffer.from(row[column]), random)
    write(path, `UPDATE events SET ${column} = CAST(? AS TEXT) WHERE position = ?`, bytes, row.position)
  },
  (path, _store, rows, random) => write(path, 'DELETE FROM events WHERE position = ?', pick(random, rows).position),
  (path, _store, rows, random) => write(path, 'DELETE FROM events WHERE position > ?', pick(random, rows).position),
  (path, _store, rows, random) => {
    const [one, two] = [pick(random, rows), pick(random, rows)]
    setHeader(path, one, two.header)
    write(path, 'UPDATE events SET data = ?, salt = ? WHERE position = ?', two.data, two.salt, one.position)
  },
  (path, _store, rows, random) => {
    const [one, two] = [pick(random, rows), pick(random, rows)]
    write(path, 'UPDATE events SET position = -1 WHERE position = ?', one.position)
    write(path, 'UPDATE events SET position = ? WHERE position = ?', one.position, two.position)
    write(path, 'UPDATE events SET position = ? WHERE position = -1', two.position)
  },
  (path, _store, rows, random) =>
    write(
      path,
      'UPDATE events SET position = ? WHERE position = ?',
      pick(random, [10_000, 2 ** 53, 3e9]),
      pick(random, rows).position,
    ),
  (path, _store, rows, random) =>
    write(
      path,
      'UPDATE events SET revision = ? WHERE position = ?',
      pick(random, [0, 3, 99, 'x']),
      pick(random, rows).position,
    ),
  (path, _store, rows, random) =>
    write(
      path,
      'UPDATE events SET request = ? WHERE position = ?',
      pick(random, [null, 'x', 5]),
      pick(random, rows).position,
    ),
  (path, _store, rows, random) =>
    write(
      path,
      'UPDATE events SET stream_id = ? WHERE position = ?',
      pick(random, [1, 2, 77]),
      pick(random, rows).position,
    ),
  (path, _store, rows, random) =>
    write(
      path,
      pick(random, ['DELETE FROM streams WHERE id = ?', `INSERT INTO streams (id, name) VALUES (? + 50, 'run-x.y')`]),
      pick(random, rows).stream_id,
    ),
  (path, _store, rows, random) => {
    const { stream } = pick(random, rows)
    write(path, 'DELETE FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)', stream)
  },
  (path, store, rows, random) => {
    const row = pick(random, rows)
    const digest = `sha256:${'0'.repeat(64)}`
    const change = pick<JsonObject>(random, [
      { prev: digest },
      { time: '2020-01-01T00:00:00.000Z' },
      { time: '2090-01-01T00:00:00.000Z' },
      { clock: '2020-01-01T00:00:00.000Z' },
      { type: 'RunKeyDisclosed' },
      { type: 'CheckpointSigned' },
      { type: 'SomethingNew' },
      { id: (JSON.parse(pick(random, rows).header) as { id: string }).id },
      { revision: row.revision + 1 },
      { kid: 'k9' },
    ])
    setHeader(path, row, sealedAnew(store, row, change))
  },
  (path, store, rows, random) => {
    const row = pick(random, rows)
    const body = JSON.parse(row.data) as JsonObject
    const data = pick(random, [
      canonicalJson({ ...body, more: 1 }),
      `${row.data} `,
      canonicalJson({ ...body, v: 99 }),
      canonicalJson({ ...body, resultRef: { digest: `sha256:${'1'.repeat(64)}`, bytes: 1 } }),
    ])
    setHeader(path, row, sealedAnew(store, row, {}, data))
    write(path, 'UPDATE events SET data = ? WHERE position = ?', data, row.position)
  },
]

async function compare({ store }: { store: SmallStore }, path: string, random: () => number): Promise<Seen> {
  const depth = pick(random, ['fast', 'full'] as const)
  const rangeRows = 1 + Math.floor(random() * 12)
  const alone = await judged(store, path, depth)
  const together = await judged(store, path, depth, rangeRows)
  assert.equal(together, alone, `ranges of ${rangeRows}, ${depth}`)
  return alone
}

threads(
  'whatever is changed in a store, several threads find what one finds, in the same order and words (LOG-43, A286)',
  async (context) => {
    const { store, rows } = context
    const random = seededRandom(testSeed(20261123))
    const codes = new Set<string>()
    assert.equal((await compare(context, store.path, random)).faults, [])
    for (let round = 0; round < rounds(60, 250, 1_000); round += 1) {
      const path = store.copy('changed.db')
      for (let changes = 0; changes < 1 + (round % 3); changes += 1) pick(random, CHANGES)(path, store, rows, random)
      for (const { code } of (await compare(context, path, random)).faults) codes.add(code)
      if (round % 30 > 0) continue
      const alone = await throughThreads(store, path, { count: 0, rangeRows: 5 })
      for (const count of [1, 3]) assert.equal(await throughThreads(store, path, { count, rangeRows: 5 }), alone)
    }
    assert.ok(codes.size >= 18, `the changes must be of many kinds: ${[...codes].join(', ')}`)
  },
)

threads('bits that flip anywhere in the file are found by several threads as by one (A286)', async (context) => {
  const { store } = context
  const random = seededRandom(testSeed(7))
  const whole = readFileSync(store.path)
  const path = store.folder.file('flipped.db')
  for (let round = 0; round < rounds(8, 100, 500); round += 1) {
    for (const suffix of ['-wal', '-shm']) writeFileSync(`${path}${suffix}`, '')
    writeFileSync(path, someByte(whole, random))
    const look = (count: number): Promise<unknown> => throughThreads(store, path, { count, rangeRows: 5 })
    if (round === 0) assert.equal(await look(2), await look(0))
    try {
      openRowScan({ path })[Symbol.dispose]()
    } catch {
      continue
    }
    await compare(context, path, random)
  }
})

threads('a row that is gone when it is read again ends the verification with an error', ({ store, rows }) => {
  using scan = openRowScan({ path: store.path })
  assert.throws(() => scan.at(String(rows.length + 1)), /went away while it was verified/)
})

threads.run()
