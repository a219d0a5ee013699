import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../../src/signing/canonical-json.ts'
import { StoreOpenError } from '../../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../../src/store/eventstoredb/eventstoredb-store.ts'
import { startNode } from '../../support/eventstoredb-node.ts'

const test = suite('the version of an EventStoreDB server')

/** The message of the refusal; undefined where the store opens. */
async function refusal(version: string | undefined): Promise<string | undefined> {
  await using node = await startNode({ version })
  try {
    await (await openEventStoreDbStore({ url: node.url, canonical: canonicalJson }))[Symbol.asyncDispose]()
    return undefined
  } catch (error) {
    if (!(error instanceof StoreOpenError)) throw error
    assert.is(error.code, 'store-unsupported')
    return error.message
  }
}

test('servers of 22.6 and later are taken, KurrentDB among them', async () => {
  for (const version of ['22.6.0', '22.10.5.0', '23.10.0.0', '24.2.0-rc1', '25.0.1']) {
    assert.is(await refusal(version), undefined, version)
  }
})

test('an older server is refused at the start, with both versions named', async () => {
  for (const version of ['21.10.11.0', '22.2.0', '5.0.11']) {
    assert.match(
      (await refusal(version)) ?? '',
      new RegExp(`is of version ${version}: EventStoreDB 22\\.6 or later is needed`),
    )
  }
})

test('a server that does not say its version is as old as that', async () => {
  for (const version of [undefined, '', 'custom'])
    assert.match((await refusal(version)) ?? '', /22\.6 or later is needed/)
})

test.run()
