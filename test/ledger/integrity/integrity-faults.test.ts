import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../../schemas/names.ts'
import { silentLog } from '../../../src/ledger/effects.ts'
import { type IntegrityDeps, IntegrityFaults } from '../../../src/ledger/integrity/integrity-faults.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import type { FaultRow, ViewStore } from '../../../src/store/view-store.ts'

const test = suite('faults on record')

const faultOf = (tenant: string, revision: number): FaultRow => ({
  ...{ tenant, stream: runStream(tenant, 'one'), revision },
  ...{ code: 'data-digest', foundAt: '2026-11-27T00:00:00.000Z' },
})

/** As many faults of `acme` as are put on record of a tenant, and one of another, whose name comes after it. */
function full(recorded: string[]): IntegrityFaults {
  const rows = [...Array.from({ length: 1_000 }, (_, revision) => faultOf('acme', revision)), faultOf('beta', 7)]
  const faults: ViewStore['faults'] = ({ tenant, stream, limit }) =>
    rows.filter((row) => (tenant ?? row.tenant) === row.tenant && (stream ?? row.stream) === row.stream).slice(0, limit)
  const deps = {
    store: openMemoryStore(),
    views: { faults, checkpoint: () => undefined },
    list: { faultsSeen: 0, catchUp: async () => undefined },
    sealer: { onFault: () => undefined, ring: { keys: [] } },
    facts: { record: async ({ tenant }: { readonly tenant: string }) => void recorded.push(tenant) },
    log: silentLog,
    readOnly: false,
    now: () => '2026-11-27T00:00:00.000Z',
  }
  return new IntegrityFaults(deps as unknown as IntegrityDeps)
}

test('as many as are put on record of one tenant do not hide those of another (LOG-24)', () => {
  const found = full([]).onRecord({ tenant: 'beta' })
  assert.equal(
    found.map(({ revision }) => revision),
    [7],
  )
})

test('a fault beyond those that are put on record of a tenant counts all the same (LOG-24)', async () => {
  const recorded: string[] = []
  const faults = full(recorded)
  await faults.confirmed({ ...faultOf('acme', 1_000), message: 'another body' })
  assert.equal(recorded, [])
  assert.ok(faults.onRecord({ tenant: 'acme' }).some(({ revision }) => revision === 1_000))
})

test.run()
