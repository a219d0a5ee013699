import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openRowScan } from '../../src/store/sqlite/row-scan.ts'
import { SoundChecks } from '../../src/verify/sound-checks.ts'
import { soundPages } from '../../src/verify/threads/sound-pages.ts'
import { VerifyThreads } from '../../src/verify/threads/verify-threads.ts'
import { verifyRecords } from '../../src/verify/verify-records.ts'
import { CALLER, type SmallStore, smallStore } from '../support/small-store.ts'
import { rowsOf, setColumn, tamper } from '../support/tamper.ts'
import { throughThreads } from '../support/through-threads.ts'

const threads = suite<{ store: SmallStore }>('verify: threads of the program')

threads.before(async (context) => {
  context.store = await smallStore(async (ledger) => {
    for (const run of ['one', 'two'])
      await ledger.execute(CALLER, run, { kind: 'start', body: { id: run, name: 'try' } }, {})
    for (let at = 0; at < 6; at += 1)
      for (const run of ['one', 'two'])
        await ledger.execute(CALLER, run, { kind: 'envelope', body: { agent: 'a', payload: { note: `${at}` } } }, {})
  })
})
threads.after(({ store }) => store[Symbol.dispose]())

threads('real threads come to the verdict of one, over a sound store and an altered one', async ({ store }) => {
  const altered = store.copy('altered.db')
  setColumn(altered, 9, 'data', `${rowsOf(altered)[8]?.data} `)
  for (const path of [store.path, altered]) {
    const alone = await throughThreads(store, path, { count: 0, rangeRows: 4 })
    assert.equal(await throughThreads(store, path, { count: 3, rangeRows: 4 }), alone)
  }
})

/** As a crash of another program may leave it: the index of all events lists none. */
function emptyIndex(path: string): void {
  tamper(path, (db) => {
    db.exec('CREATE INDEX other ON events (stream_id, revision) WHERE revision < 0')
    db.unsafeMode()
    db.pragma('writable_schema = ON')
    db.exec(`UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'other')
      WHERE name = 'sqlite_autoindex_events_1'; DELETE FROM sqlite_schema WHERE name = 'other'`)
  })
}

threads('an index that hides events is found in a thread of its own as by one thread (LOG-43)', async ({ store }) => {
  const path = store.copy('hidden.db')
  emptyIndex(path)
  for (const depth of ['fast', 'full'] as const) {
    const alone = await throughThreads(store, path, { count: 0, rangeRows: 4, depth })
    assert.ok(alone.faults.some(({ code }) => code === 'structure'))
    for (const count of [1, 3])
      assert.equal(await throughThreads(store, path, { count, rangeRows: 4, depth }), alone, `${count}, ${depth}`)
  }
})

for (const [how, program] of [
  ['throws', 'throw new Error("torn")'],
  [
    'ends amid its work',
    'import("node:worker_threads").then((it) => it.parentPort.once("message", () => process.exit(0)))',
  ],
  [
    'cannot open the store',
    'import("node:worker_threads").then((it) => it.parentPort.postMessage({ kind: "open-failed", failure: { message: "no" } }) ?? process.exit(1))',
  ],
] as const)
  threads(
    `a thread that ${how} ends the verification with an error, never with a verdict (F265)`,
    async ({ store }) => {
      using scan = openRowScan({ path: store.path })
      const workerData = { path: store.path, ring: store.keys.ring, depth: 'full' } as never
      await using dying = new VerifyThreads({
        file: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
        count: 2,
        workerData,
      })
      const checks = new SoundChecks({ ring: store.keys.ring as never, runKeys: store.keys.runKeys, depth: 'full' })
      const given = await verifyRecords(soundPages(scan, { threads: dying, checks, rangeRows: 4 }), {
        keys: store.keys,
        wholeStore: true,
        onFault: () => {},
      }).then(
        ({ verdict }) => verdict,
        (error: Error) => error.message,
      )
      assert.match(given, /^a thread that checks events ended before its time: /)
    },
  )

threads.run()
