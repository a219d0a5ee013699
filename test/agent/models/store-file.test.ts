import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../schemas/json.ts'
import type { ModelSettings } from '../../../src/agent/models/model-settings.ts'
import { open } from '../../../src/agent/open.ts'
import type { Run } from '../../../src/agent/runtime/run.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const store = suite('model calls in the store file')

const CANARY = 'canary-4711'

/** Every byte that a run leaves behind, which asks, is answered and is failed with the canary. */
async function bytesLeft(settings: ModelSettings): Promise<string> {
  using folder = tempFolder()
  {
    await using cs = await open({ path: folder.path })
    const ask = (run: Run, fails: boolean): Promise<unknown> =>
      run.model({
        ...settings,
        provider: 'acme',
        model: 'small',
        request: { prompt: `tell me of ${CANARY}` },
        retries: 0,
        call: () => {
          if (fails) throw new Error(`no answer to ${CANARY}`)
          return { text: `${CANARY} it is` }
        },
      })
    await cs.run({ id: 'r' }, async (run) => {
      await ask(run, false)
      await ask(run, true).catch(() => undefined)
    })
  }
  return readdirSync(folder.path)
    .map((file) => readFileSync(join(folder.path, file), 'latin1'))
    .join('')
}

store('what is redacted, or recorded as a digest, is in no file of the data folder', async () => {
  const redact = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll(CANARY, '***')) as Json
  assert.match(await bytesLeft({}), CANARY, 'the scan finds what is there')
  assert.not.match(await bytesLeft({ redact }), CANARY)
  assert.not.match(await bytesLeft({ record: 'digest' }), CANARY)
})

store.run()
