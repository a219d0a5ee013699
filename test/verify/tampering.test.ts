import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { verifyTarget } from '../../src/cli/verify-target.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { VerifyFault } from '../../src/verify/fault.ts'
import type { VerifyResult } from '../../src/verify/verify-records.ts'
import { rounds } from '../support/rounds.ts'
import { type SmallStore, smallStore } from '../support/small-store.ts'
import { rowsOf, type StoreRow, setColumn, tamper } from '../support/tamper.ts'

const tampering = suite<{ store: SmallStore; rows: readonly StoreRow[] }>('verify: tampering with a store')

tampering.before(async (context) => {
  context.store = await smallStore()
  context.rows = rowsOf(context.store.path)
})
tampering.after(({ store }) => store[Symbol.dispose]())

interface Seen {
  readonly result: VerifyResult
  readonly faults: readonly VerifyFault[]
}

async function look(store: SmallStore, path: string, depth: 'fast' | 'full' = 'full'): Promise<Seen> {
  const faults: VerifyFault[] = []
  const onFault = (fault: VerifyFault): void => void faults.push(fault)
  const { result } = await verifyTarget(
    { kind: 'store', name: path },
    { keys: store.keys, depth, onFault, findKey: () => undefined },
  )
  return { result, faults }
}

async function after(store: SmallStore, change: (path: string) => void): Promise<Seen> {
  const path = store.copy('tampered.db')
  change(path)
  return await look(store, path)
}

/** The places that the faults name, `stream@revision`, each once. */
function named({ faults }: Seen): readonly string[] {
  return [...new Set(faults.map(({ stream, revision }) => `${stream}@${revision}`))].sort()
}

function placeOf({ stream, revision }: StoreRow): string {
  return `${stream}@${revision}`
}

function at(rows: readonly StoreRow[], index: number): StoreRow {
  const row = rows[index]
  if (row === undefined) throw new Error(`there is no row ${index}`)
  return row
}

/** Rows that some later row of their stream follows: of a last one only a checkpoint could tell. */
function followed(rows: readonly StoreRow[]): readonly StoreRow[] {
  return rows.filter((row) => rows.some((other) => other.stream === row.stream && other.revision > row.revision))
}

function withoutBit(text: string, at: number, bit: number): Buffer {
  const bytes = Buffer.from(text)
  const index = at % bytes.length
  bytes[index] = (bytes[index] ?? 0) ^ (1 << bit)
  return bytes
}

tampering('an untouched store is VERIFIED, at either depth', async ({ store, rows }) => {
  for (const depth of ['fast', 'full'] as const) {
    const { result, faults } = await look(store, store.path, depth)
    assert.is(result.verdict, 'VERIFIED', JSON.stringify(faults))
    assert.is(result.events, rows.length)
    assert.is(result.streams, 3)
  }
})

tampering(
  'any one bit of a signed column is noticed, and the event it stands in is the one that is named',
  async (context) => {
    const { store, rows } = context
    const flip = fc.record({
      row: fc.nat(rows.length - 1),
      column: fc.constantFrom('header' as const, 'data' as const, 'salt' as const),
      at: fc.nat(4_000),
      bit: fc.nat(7),
    })
    await fc.assert(
      fc.asyncProperty(flip, async ({ row: index, column, at: byte, bit }) => {
        const row = at(rows, index)
        const seen = await after(store, (path) => {
          if (column === 'salt') {
            const salt = Buffer.from(row.salt)
            const place = byte % salt.length
            salt[place] = (salt[place] ?? 0) ^ (1 << bit)
            return setColumn(path, row.position, 'salt', salt)
          }
          const bytes = withoutBit(row[column], byte, bit)
          tamper(path, (db) => {
            db.prepare(`UPDATE events SET ${column} = CAST(? AS TEXT) WHERE position = ?`).run(bytes, row.position)
          })
        })
        assert.is(seen.result.verdict, 'TAMPERED')
        assert.equal(named(seen), [placeOf(row)], JSON.stringify(seen.faults))
      }),
      { numRuns: rounds(30, 120) },
    )
  },
)

tampering('each field of a header is under the seal: another value of any is noticed', async ({ store, rows }) => {
  const rich = rows.find(({ header }) => header.includes('"request"') && header.includes('"prev"')) ?? at(rows, 3)
  const header = JSON.parse(rich.header) as JsonObject
  for (const field of Object.keys(header)) {
    const value = header[field]
    const changed = typeof value === 'number' ? value + 1 : changedText(value)
    const text = canonicalJson({ ...header, [field]: changed })
    const seen = await after(store, (path) => setColumn(path, rich.position, 'header', text))
    assert.is(seen.result.verdict, 'TAMPERED', field)
    assert.equal(named(seen), [placeOf(rich)], field)
  }
})

function changedText(value: unknown): JsonObject[string] {
  if (typeof value === 'string')
    return value.replace(/[0-9a-zA-Z](?=[^0-9a-zA-Z]*$)/, (last) => (last === '1' ? '2' : '1'))
  if (Array.isArray(value)) return [...value, 'more'] as JsonObject[string]
  return { ...(value as JsonObject), id: '00000000-0000-5000-8000-000000000000' }
}

tampering(
  'a header with a field more, a blank more or its keys in another order is noticed',
  async ({ store, rows }) => {
    const row = at(rows, 2)
    const header = JSON.parse(row.header) as JsonObject
    const texts = [
      canonicalJson({ ...header, extra: 'x' }),
      row.header.replace(':', ': '),
      JSON.stringify(Object.fromEntries(Object.entries(header).reverse())),
      row.header.replace('{', '{"actor":"somebody",'),
    ]
    for (const text of texts) {
      const seen = await after(store, (path) => setColumn(path, row.position, 'header', text))
      assert.is(seen.result.verdict, 'TAMPERED', text)
      assert.equal(named(seen), [placeOf(row)], text)
    }
  },
)

tampering('a column that repeats a header field must repeat it', async ({ store, rows }) => {
  const marked = rows.find(({ request }) => request !== null) ?? at(rows, 1)
  const plain = rows.find(({ request }) => request === null) ?? at(rows, 1)
  const changes: readonly (readonly [StoreRow, string, unknown])[] = [
    [marked, 'request', null],
    [marked, 'request', '00000000-0000-5000-8000-000000000000'],
    [plain, 'request', '00000000-0000-5000-8000-000000000000'],
    [marked, 'revision', 900],
  ]
  for (const [row, column, value] of changes) {
    const seen = await after(store, (path) => setColumn(path, row.position, column, value))
    assert.is(seen.result.verdict, 'TAMPERED', column)
    assert.equal(named(seen), [column === 'revision' ? `${row.stream}@900` : placeOf(row)], column)
  }
})

tampering('an event that was moved to another stream is named', async ({ store, rows }) => {
  const row = rows.find(({ stream, revision }) => stream === 'run-acme.one' && revision === 2) ?? at(rows, 2)
  const other = rows.find(({ stream }) => stream === 'run-acme.two') ?? at(rows, 2)
  const seen = await after(store, (path) => {
    tamper(path, (db) => {
      db.prepare('UPDATE events SET stream_id = ?, revision = 77 WHERE position = ?').run(other.stream_id, row.position)
    })
  })
  assert.is(seen.result.verdict, 'TAMPERED')
  assert.equal(named(seen), ['run-acme.two@77'])
  assert.ok(seen.faults.some(({ code, eventId }) => code === 'wrong-stream' && row.header.includes(eventId ?? '-')))
})

tampering('a stream under another name is noticed (A26)', async ({ store }) => {
  const seen = await after(store, (path) => {
    tamper(path, (db) => db.prepare(`UPDATE streams SET name = 'run-acme.three' WHERE name = 'run-acme.two'`).run())
  })
  assert.is(seen.result.verdict, 'TAMPERED')
  assert.ok(seen.faults.every(({ stream }) => stream === 'run-acme.three'))
})

tampering(
  'a dropped event that others of its stream follow is named by its revision (A28)',
  async ({ store, rows }) => {
    for (const row of followed(rows)) {
      const seen = await after(store, (path) => {
        tamper(path, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(row.position))
      })
      assert.is(seen.result.verdict, 'TAMPERED', placeOf(row))
      assert.equal(named(seen), [placeOf(row)])
      assert.equal(
        seen.faults.map(({ code }) => code),
        ['missing'],
      )
    }
  },
)

tampering(
  'the last event of a stream, dropped with others behind it in the store, leaves a gap of positions',
  async (context) => {
    const { store, rows } = context
    const last = rows.findLast(({ stream }) => stream === 'run-acme.two') ?? at(rows, 1)
    assert.ok(last.position < at(rows, rows.length - 1).position)
    const seen = await after(store, (path) => {
      tamper(path, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(last.position))
    })
    assert.is(seen.result.verdict, 'TAMPERED')
    assert.equal(
      seen.faults.map(({ code, position }) => [code, position]),
      [['position-gap', String(last.position)]],
    )
  },
)

tampering('a whole stream that was removed is noticed (A30)', async ({ store }) => {
  const seen = await after(store, (path) => {
    tamper(path, (db) => {
      const of = `(SELECT id FROM streams WHERE name = 'run-acme.two')`
      db.exec(`DELETE FROM events WHERE stream_id = ${of}; DELETE FROM streams WHERE id = ${of}`)
    })
  })
  assert.is(seen.result.verdict, 'TAMPERED')
  assert.equal(
    seen.faults.map(({ code }) => code),
    ['position-gap'],
  )
})

tampering('a stream whose events are gone and whose name is not is named', async ({ store }) => {
  const seen = await after(store, (path) => {
    tamper(path, (db) => db.exec(`INSERT INTO streams (name) VALUES ('run-acme.ghost')`))
  })
  assert.is(seen.result.verdict, 'TAMPERED')
  assert.equal(
    seen.faults.map(({ code, stream }) => [code, stream]),
    [['stream-without-events', 'run-acme.ghost']],
  )
})

tampering('a name under an id that no event can have is named', async ({ store }) => {
  for (const id of ['-7', '9223372036854775807']) {
    const seen = await after(store, (path) => {
      tamper(path, (db) => db.exec(`INSERT INTO streams (id, name) VALUES (${id}, 'run-acme.ghost')`))
    })
    assert.is(seen.result.verdict, 'TAMPERED')
    assert.equal(
      seen.faults.map(({ code, stream }) => [code, stream]),
      [['stream-without-events', 'run-acme.ghost']],
    )
  }
})

tampering(
  'a row before the first position, where only who reads its stream meets it, is noticed (A301)',
  async (context) => {
    const { store, rows } = context
    const last = rows.findLast(({ stream }) => stream === 'run-acme.one') ?? at(rows, 1)
    const put = `INSERT INTO events (position, stream_id, revision, header, salt, data)
      SELECT ?, stream_id, revision + 1, header, salt, data FROM events WHERE position = ?`
    for (const position of [0, -1, -(2 ** 53), -(2n ** 63n)]) {
      const path = store.copy('before.db')
      tamper(path, (db) => db.prepare(put).run(position, last.position))
      for (const depth of ['fast', 'full'] as const) {
        const { result, faults } = await look(store, path, depth)
        assert.is(result.verdict, 'TAMPERED')
        assert.equal(
          faults.map(({ code, message }) => [code, message.includes(`at ${position}`)]),
          [['position-order', true]],
        )
      }
    }
  },
)

tampering('events whose stream lost its name are named by position', async ({ store, rows }) => {
  const seen = await after(store, (path) => {
    tamper(path, (db) => db.exec(`DELETE FROM streams WHERE name = 'run-acme.two'`))
  })
  assert.is(seen.result.verdict, 'TAMPERED')
  const lost = rows.filter(({ stream }) => stream === 'run-acme.two').map(({ position }) => String(position))
  assert.equal(
    seen.faults.filter(({ code }) => code === 'stream-row-missing').map(({ position }) => position),
    lost,
  )
})

tampering('two events whose contents were swapped are both named, and no other', async ({ store, rows }) => {
  await fc.assert(
    fc.asyncProperty(fc.nat(rows.length - 1), fc.nat(rows.length - 1), async (first, second) => {
      fc.pre(first !== second)
      const [a, b] = [at(rows, first), at(rows, second)]
      const seen = await after(store, (path) => {
        tamper(path, (db) => {
          const put = db.prepare('UPDATE events SET header = ?, salt = ?, data = ?, request = NULL WHERE position = ?')
          put.run(b.header, b.salt, b.data, a.position)
          put.run(a.header, a.salt, a.data, b.position)
          const mark = db.prepare('UPDATE events SET request = ? WHERE position = ?')
          mark.run(b.request, a.position)
          mark.run(a.request, b.position)
        })
      })
      assert.is(seen.result.verdict, 'TAMPERED')
      assert.equal(named(seen), [placeOf(a), placeOf(b)].sort(), JSON.stringify(seen.faults))
    }),
    { numRuns: rounds(20, 60) },
  )
})

tampering('an event that was written over with a copy of another is named', async ({ store, rows }) => {
  await fc.assert(
    fc.asyncProperty(fc.nat(rows.length - 1), fc.nat(rows.length - 1), async (from, to) => {
      fc.pre(from !== to)
      const [source, target] = [at(rows, from), at(rows, to)]
      const seen = await after(store, (path) => {
        tamper(path, (db) => {
          db.prepare('UPDATE events SET header = ?, salt = ?, data = ?, request = NULL WHERE position = ?').run(
            ...[source.header, source.salt, source.data, target.position],
          )
        })
      })
      assert.is(seen.result.verdict, 'TAMPERED')
      assert.equal(named(seen), [placeOf(target)], JSON.stringify(seen.faults))
    }),
    { numRuns: rounds(20, 60) },
  )
})

tampering('the body of one event under the header of another is noticed', async ({ store, rows }) => {
  const [a, b] = [at(rows, 3), at(rows, 5)]
  const seen = await after(store, (path) => {
    tamper(path, (db) =>
      db.prepare('UPDATE events SET salt = ?, data = ? WHERE position = ?').run(b.salt, b.data, a.position),
    )
  })
  assert.equal(named(seen), [placeOf(a)])
  assert.equal(
    seen.faults.map(({ code }) => code),
    ['data-digest'],
  )
})

tampering('triggers that were taken away are noticed, with every event whole', async ({ store }) => {
  const seen = await after(store, (path) => {
    tamper(path, () => {})
    tamper(path, (db) => db.exec('CREATE TABLE extra (x)'))
  })
  assert.is(seen.result.verdict, 'TAMPERED')
  assert.equal(
    seen.faults.map(({ code }) => code),
    ['schema-altered'],
  )
})

tampering('several changes at once are each named', async ({ store, rows }) => {
  const hit = followed(rows).filter((_, index) => index % 3 === 1)
  const seen = await after(store, (path) => {
    for (const row of hit) setColumn(path, row.position, 'data', '{}')
  })
  assert.equal(named(seen), hit.map(placeOf).sort())
})

tampering.run()
