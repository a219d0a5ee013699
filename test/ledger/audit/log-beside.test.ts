import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { logBeside } from '../../../src/ledger/audit/log-beside.ts'
import type { SealFault } from '../../../src/ledger/identity/sealer.ts'
import { LOST_EVENT_ID } from '../../../src/ledger/log/acknowledgements.ts'
import { testLogs } from '../../support/test-logs.ts'

const test = suite('ledger: the auditors’ index beside the log')

test('an index that lacks an event of the log has the first one named that the store lacks too (LOG-79)', async () => {
  await using at = await testLogs()
  const { logs, store, tenant, logStore } = at
  await at.fill(tenant, 'one', 3)
  const found: SealFault[] = []
  const sealer = { faultFound: (fault: SealFault) => void found.push(fault) }
  const beside = logBeside({ store, logs, sealer })
  const size = await beside.follow(tenant)
  assert.ok(size > 4)
  const ids = logStore.leaves(tenant, 0, size).map(({ eventId }) => eventId)
  await beside.compare(tenant, size, (leaf) => ids[leaf])
  const without = (lost: number) => (leaf: number) => ids.filter((_, at) => at !== lost)[leaf]
  await beside.compare(tenant, size, without(2))
  assert.equal(found, [], 'the store has it: the index may have been renewed')

  const { stream, revision } = logStore.leaf(tenant, 2) ?? {}
  const lacking = {
    end: () => store.end(),
    comparePositions: store.comparePositions.bind(store),
    readStream: async function* () {},
  }
  const overLacking = logBeside({ store: lacking, logs, sealer })
  for (const lost of [2, size - 1, 0]) await overLacking.compare(tenant, size, without(lost))
  assert.equal(
    found.map((fault) => fault.code),
    ['missing', 'missing', 'missing'],
  )
  assert.equal([found[0]?.stream, found[0]?.revision], [stream, revision])

  const leaf = (of: string, index: number) => {
    const row = logStore.leaf(of, index)
    return row && index === 2 ? { ...row, eventId: LOST_EVENT_ID } : row
  }
  const { leafOf, tile, progress, holedLogs } = logStore
  const leaves = { leaf, leafOf, tile, progress, holedLogs }
  const holed = logBeside({ store: lacking, logs: { ...logs, leaves }, sealer })
  await holed.compare(tenant, size, without(2))
  assert.is(found.length, 3, 'what is acknowledged as lost is not named once more')
})

test.run()
