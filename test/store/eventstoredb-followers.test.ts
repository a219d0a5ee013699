import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { collect } from '../support/records.ts'
import { testLogs } from '../support/test-logs.ts'
import { testStoreKeys } from '../support/test-store.ts'

const test = suite('eventstoredb: the files that follow the store')

/** So few that what is signed is read again one by one, and not by the reading that is counted here. */
const HANDOFFS = 10

test('the run list and the logs take each event from one reading of the node, that of another process too (STR-42)', async () => {
  await using node = await startNode()
  const openStore = () => openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  const keys = testStoreKeys()
  {
    // Gone before anything is counted: its own list would follow the store as soon as it has nothing to write.
    await using other = await openStore()
    await using two = await testLogs({ store: other, keys })
    await two.fill(two.tenant, 'theirs', HANDOFFS)
  }
  await using store = await openStore()
  await using one = await testLogs({ store, keys })
  const before = node.sent.subscription
  await one.fill(one.tenant, 'ours', HANDOFFS)
  const { items } = await one.ledger.listRuns({ tenant: one.tenant, actor: 'tester' }, { limit: 10 })
  assert.equal(items.map(({ runId }) => runId).sort(), ['ours', 'theirs'])
  await one.logs.publish()
  const sent = node.sent.subscription - before
  const events = (await collect(store.readAll())).length
  // A page's reader leaves once it has what it wanted, which the node hears a moment later; and the checkpoint is an event, too.
  assert.ok(sent > HANDOFFS && sent <= 1.5 * events, `${sent} events were sent for ${events}`)
  assert.ok(one.logs.checkpoint(one.tenant).ok)
})

test.run()
