import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { collect } from '../support/records.ts'
import { testLogs } from '../support/test-logs.ts'

const test = suite('eventstoredb: the files that follow the store')

/** So few that what is signed is read again one by one, and not by the reading that is counted here. */
const HANDOFFS = 10

test('the run list and the logs take each event from one reading of the node, that of another process too (STR-42)', async () => {
  await using node = await startNode()
  await using store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  await using other = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  await using one = await testLogs({ store })
  await using two = await testLogs({ store: other, keys: one.keys })
  const caller = { tenant: one.tenant, actor: 'tester' }
  await one.fill(one.tenant, 'ours', HANDOFFS)
  await two.fill(one.tenant, 'theirs', HANDOFFS)
  const events = (await collect(store.readAll())).length
  const before = node.sent.subscription
  const { items } = await one.ledger.listRuns(caller, { limit: 10 })
  assert.equal(items.map(({ runId }) => runId).sort(), ['ours', 'theirs'])
  await one.logs.publish()
  const sent = node.sent.subscription - before
  // A page's reader leaves once it has what it wanted, which the node hears a moment later; and the checkpoint is an event, too.
  assert.ok(sent <= 1.5 * events, `${sent} events were sent for ${events}`)
  assert.ok(one.logs.checkpoint(one.tenant).ok)
})

test.run()
