import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openRowScan } from '../../src/store/sqlite/row-scan.ts'
import type { RangeRow, ScannedRecord } from '../../src/store/sqlite/scanned-rows.ts'
import { CALLER, type SmallStore, smallStore } from '../support/small-store.ts'
import { rowsOf, setColumn, tamper } from '../support/tamper.ts'

const blocks = suite<{ store: SmallStore; count: number }>('store: rows in blocks')

blocks.before(async (context) => {
  context.store = await smallStore(async (ledger) => {
    for (const run of ['one', 'two'])
      await ledger.execute(
        CALLER,
        run,
        { kind: 'start', body: { id: run, name: 'try' } },
        {
          idempotency: { key: run, method: 'POST', path: '/v1/x' },
        },
      )
    for (let at = 0; at < 40; at += 1)
      for (const run of ['one', 'two'])
        await ledger.execute(CALLER, run, { kind: 'envelope', body: { agent: 'a', payload: { at } } }, {})
  })
  context.count = rowsOf(context.store.path).length
})
blocks.after(({ store }) => store[Symbol.dispose]())

interface Read {
  readonly items: readonly unknown[]
  readonly inBlocks: number
}

/** What a range gives, and what each of its rows is when it is read alone. */
function bothWays(
  path: string,
  after: number,
  to: number,
): { readonly range: Read; readonly alone: readonly unknown[] } {
  using scan = openRowScan({ path })
  Array.from(scan.opening())
  const rows = [...scan.range({ after, to })]
  const inBlocks = rows.filter(({ item }) => 'bytes' in item).length
  return {
    range: { items: rows.map(plain), inBlocks },
    alone: rows.map(({ position, size }) => plain({ item: scan.at(String(position)), position, size })),
  }
}

function plain({ item, position, size }: RangeRow): unknown {
  if ('fault' in item) return { item, position }
  const { stream, revision, header, data, requestId, hasColumns }: ScannedRecord = item
  assert.is(size, header.length + data.length)
  const salt = Buffer.from(item.salt).toString('hex')
  return { position: item.position, at: position, stream, revision, header, data, salt, requestId, hasColumns }
}

blocks('rows that were read in a block are what each is when it is read alone', ({ store, count }) => {
  for (const [after, to] of [
    [0, count],
    [0, 64],
    [3, 67],
    [count - 1, count],
  ] as const) {
    const { range, alone } = bothWays(store.path, after, to)
    assert.equal(range.items, alone)
    assert.is(alone.length, to - after)
    assert.is(range.inBlocks, to - after)
  }
})

const LETTERS = '\u00e9 \u{1f600}'

for (const [what, column, value, inBlock] of [
  ['a body beyond ASCII', 'data', `{"a":"${LETTERS}"}`, true],
  ['a body with a NUL amid it', 'data', 'a\u0000b', true],
  ['an empty body', 'data', '', true],
  ['a body of more than 64 KiB', 'data', 'x'.repeat(65_537), false],
  ['a header beyond ASCII', 'header', `{"actor":"${LETTERS}"}`, false],
  ['a request id beyond ASCII', 'request', LETTERS, false],
  ['a request id', 'request', 'r-1', true],
  ['a salt of another length', 'salt', Buffer.alloc(15), false],
  ['a revision that no number holds', 'revision', 2n ** 60n, false],
  ['a stream that has no name', 'stream_id', 77, false],
] as const)
  blocks(`a block with ${what} gives the row that is read alone`, ({ store, count }) => {
    const path = store.copy('unusual.db')
    setColumn(path, 7, column, value)
    const { range, alone } = bothWays(path, 0, count)
    assert.equal(range.items, alone)
    assert.is(alone.length, count)
    assert.is(range.inBlocks, inBlock ? count : count - 64)
  })

blocks('text that is not UTF-8 is a fault in a block as alone', ({ store, count }) => {
  const path = store.copy('bytes.db')
  tamper(path, (db) => db.exec("UPDATE events SET data = CAST(x'22ff22' AS TEXT) WHERE position = 7"))
  const { range, alone } = bothWays(path, 0, count)
  assert.equal(range.items, alone)
  assert.match(JSON.stringify(alone[6]), /not-utf8/)
})

blocks('a range with a position that is not there gives the rows around it one by one', ({ store, count }) => {
  const path = store.copy('gap.db')
  tamper(path, (db) => db.exec('DELETE FROM events WHERE position = 7'))
  const { range, alone } = bothWays(path, 0, count)
  assert.equal(range.items, alone)
  assert.is(alone.length, count - 1)
  assert.is(range.inBlocks, count - 64)
})

blocks.run()
