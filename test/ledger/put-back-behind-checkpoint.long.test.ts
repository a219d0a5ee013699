import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isLossy, lossyPlace, openedOn } from '../support/lossy-place.ts'
import { startedCode } from '../support/lossy-site.ts'

const test = suite('an event that comes back behind a checkpoint that was signed without it')

const KIND = 'eventstoredb'
const onNode = isLossy(KIND) ? test : test.skip

onNode(
  'the log of its tenant stops, and the process serves the others; taken out again, that log goes on (STR-54, F362)',
  async () => {
    await using at = await lossyPlace(KIND)
    {
      await using ledger = await openedOn(at)
      await ledger.fill('beta', 'far', 1)
      await ledger.logs.publish()
      await ledger.fill('acme', 'one', 3)
      // The event that goes is not the last: the checkpoint covers its place.
      await ledger.fill('acme', 'two', 3)
    }
    const row = (await at.lossy.rows()).filter(({ stream }) => stream === 'run-acme.one').at(-1)
    if (row === undefined) throw new Error('no event')
    await at.lossy.remove(row)
    for (const name of ['log.db', 'log.db-wal', 'log.db-shm', 'log.db.sealed'])
      rmSync(at.folder.file(name), { force: true })
    {
      await using ledger = await openedOn(at)
      await ledger.logs.publish()
      assert.is(ledger.logs.state('acme').stopped, undefined, 'nothing tells that an event is gone')
    }
    await at.lossy.putBack(row)
    for (const start of ['made anew', 'again']) {
      await using ledger = await openedOn(at)
      await ledger.logs.publish()
      assert.is(ledger.logs.state('acme').stopped, 'checkpoint-mismatch')
      assert.is(await startedCode(ledger, 'acme'), 'log-stopped')
      if (start === 'again') assert.is(await startedCode(ledger, 'beta'), 'started')
      assert.ok(ledger.ledger.losses({ tenant: 'acme' }).some(({ scope }) => scope === 'tenant'))
      assert.equal(ledger.ledger.losses({ tenant: 'beta' }), [])
    }
    await at.lossy.remove(row)
    await using ledger = await openedOn(at)
    assert.is(ledger.logs.state('acme').stopped, undefined)
  },
)

test.run()
