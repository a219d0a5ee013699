import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { open } from '../../src/agent/open.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { rowsOf, tamper } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const values = suite('verify and copy: large values')

const BYTES = 300_000

/** A data folder with a run whose call gave a large value. */
async function seeded() {
  const folder = tempFolder()
  await using cs = await open({ path: folder.path })
  const dump = cs.tool(async (bytes: number) => 'x'.repeat(bytes), { name: 'dump', compensate: 'not-needed' })
  await cs.run({ id: 'r', name: 'r' }, async () => (await dump(BYTES)).length)
  const paths = { store: folder.file('store.db'), keys: ['--keys', folder.file('keys.json')] }
  return { folder, ...paths, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

async function verified(store: string, keys: readonly string[]) {
  const { code, stdout } = await runInProcess(['verify', store, '--json', ...keys])
  return {
    code,
    ...(JSON.parse(stdout) as { verdict: string; values?: object; faults: { code: string; stream?: string }[] }),
  }
}

const isValue = (stream: string): boolean => stream.startsWith('value-')

values('a store with large values verifies, and they are counted (REC-20)', async () => {
  using at = await seeded()
  const { code, verdict, values: counted } = await verified(at.store, at.keys)
  assert.equal([code, verdict, counted], [0, 'VERIFIED', { whole: 1, unnamed: 0 }])
})

values('verify names a value that is gone, and the event that names it (A200)', async () => {
  using at = await seeded()
  tamper(at.store, (db) => {
    db.exec("DELETE FROM events WHERE stream_id IN (SELECT id FROM streams WHERE name LIKE 'value-%')")
    db.exec("DELETE FROM streams WHERE name LIKE 'value-%'")
  })
  const { code, verdict, faults } = await verified(at.store, at.keys)
  assert.equal([code, verdict], [1, 'TAMPERED'])
  assert.ok(faults.some((fault) => fault.code === 'value-missing' && fault.stream === 'run-default.r'))
})

values('verify names a value of which a part is gone or was altered, and the event that names it (A201)', async () => {
  for (const change of ['UPDATE', 'DELETE'] as const) {
    using at = await seeded()
    const last = rowsOf(at.store).findLast(({ stream }) => isValue(stream))
    if (last === undefined) throw new Error('there is a value')
    tamper(at.store, (db) => {
      const altered = last.data.replace('xxxx', 'xxyx')
      if (change === 'UPDATE') db.prepare('UPDATE events SET data = ? WHERE position = ?').run(altered, last.position)
      else db.prepare('DELETE FROM events WHERE position = ?').run(last.position)
    })
    const { verdict, faults } = await verified(at.store, at.keys)
    assert.is(verdict, 'TAMPERED')
    const code = change === 'UPDATE' ? 'value-altered' : 'value-missing'
    assert.ok(
      faults.some((fault) => fault.code === code && fault.stream === 'run-default.r'),
      JSON.stringify(faults),
    )
  }
})

values(
  'export --bundle --values brings the values along, and verify counts them; without the flag it says so (RUN-93)',
  async () => {
    using at = await seeded()
    const data = ['--data', at.folder.path]
    for (const [name, flags, counted] of [
      ['with', ['--values'], { named: 1, values: 1 }],
      ['without', [], { named: 1, values: 0 }],
    ] as const) {
      const file = at.folder.file(`${name}.tar`)
      const made = await runInProcess(['export', '--run', 'r', '--bundle', file, ...flags, ...data])
      assert.is(made.code, 0, made.stderr)
      const { code, stdout } = await runInProcess(['verify', file, '--json', ...data])
      const { verdict, named, values: whole, notes } = JSON.parse(stdout)
      assert.equal([code, verdict, named, whole], [0, 'VERIFIED', counted.named, counted.values])
      assert.is(`${notes}`.includes('--values'), counted.values === 0)
    }
    const wrong = await runInProcess(['export', '--run', 'r', '--values', '--out', at.folder.file('x'), ...data])
    assert.is(wrong.code, 2)
    assert.match(wrong.stderr, /--values goes with --bundle/)
  },
)

values('copy takes the values along, and the copy verifies (STR-28)', async () => {
  using at = await seeded()
  const to = at.folder.file('copy.db')
  const copied = await runInProcess(['copy', '--from', at.store, '--to', to, ...at.keys])
  assert.is(copied.code, 0, copied.stderr)
  const { verdict, values: counted } = await verified(to, at.keys)
  assert.equal([verdict, counted], ['VERIFIED', { whole: 1, unnamed: 0 }])
})

values('an export names its values, says that they are not in it, and is no worse for that', async () => {
  using at = await seeded()
  const file = at.folder.file('r.jsonl')
  const made = await runInProcess([
    'export',
    '--data',
    at.folder.path,
    '--tenant',
    'default',
    '--format',
    'jsonl',
    '--out',
    file,
  ])
  assert.is(made.code, 0, made.stderr)
  const { stdout } = await runInProcess(['verify', file, ...at.keys])
  assert.match(stdout, /large values: 1 are named/)
})

values.run()
