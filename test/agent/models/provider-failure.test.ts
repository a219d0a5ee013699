import Anthropic from '@anthropic-ai/sdk'
import { APICallError, generateText, wrapLanguageModel } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { aiSdkMiddleware } from '../../../src/agent/models/ai-sdk.ts'
import type { ModelSettings } from '../../../src/agent/models/model-settings.ts'
import { trackAnthropic } from '../../../src/agent/models/track-anthropic.ts'
import { trackOpenAI } from '../../../src/agent/models/track-openai.ts'
import { HOMES, rejection } from '../homes.ts'

const test = suite('errors of providers')
const inProcess = HOMES[0] as (typeof HOMES)[number]

/** What code catches of a model call, live and replayed; the replay calls nobody. */
async function caught(call: () => Promise<unknown>): Promise<readonly [Error, Error]> {
  await using home = await inProcess.open()
  const came: Error[] = []
  const body = async (): Promise<void> => void came.push((await rejection(call())) as Error)
  await home.process().run({ id: 'r', name: 'r' }, body)
  await home.process().replay('r', body)
  return came as unknown as readonly [Error, Error]
}

const members = (error: Error): object => ({ ...error, message: error.message, cause: undefined })
const TELLS = {
  error: { message: 'no such model', type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
}
const fetch = async (): Promise<Response> => Response.json(TELLS, { status: 404, headers: { 'x-request-id': 'q' } })

const openAiCall = (settings: ModelSettings) => {
  const client = trackOpenAI(new OpenAI({ apiKey: 'none', fetch }), settings)
  return () => client.chat.completions.create({ model: 'm', messages: [], max_completion_tokens: 5 })
}

test('an APIError of OpenAI is one live as from the record, with its status and code (RUN-141)', async () => {
  const [live, later] = await caught(openAiCall({ retries: 0 }))
  for (const error of [live, later]) {
    assert.instance(error, OpenAI.NotFoundError)
    const { status, code, type, message } = error as InstanceType<typeof OpenAI.APIError>
    assert.equal([status, code, type, message], [404, 'model_not_found', 'invalid_request_error', '404 no such model'])
  }
  assert.equal(members(live), members(later))
})

test('where only digests are recorded an APIError keeps its class and its status alone (RUN-141)', async () => {
  const [live, later] = await caught(openAiCall({ retries: 0, record: 'digest' }))
  assert.instance(live, OpenAI.NotFoundError)
  assert.equal(members(live), members(later))
  assert.not.match(JSON.stringify(members(later)), 'no such model')
})

test('an APIError of Anthropic is one live as from the record (RUN-141)', async () => {
  const client = trackAnthropic(new Anthropic({ apiKey: 'none', fetch }), { retries: 0 })
  const [live, later] = await caught(() => client.messages.create({ model: 'm', messages: [], max_tokens: 5 }))
  assert.instance(live, Anthropic.NotFoundError)
  assert.instance(later, Anthropic.NotFoundError)
  assert.equal(members(live), members(later))
})

test('an APICallError of the AI SDK is told by its mark live as from the record (RUN-141)', async () => {
  const bare = new MockLanguageModelV3({
    doGenerate: async () => {
      const url = 'https://models.invalid/v1'
      throw new APICallError({
        message: 'no such model',
        url,
        requestBodyValues: { a: 1 },
        statusCode: 404,
        isRetryable: false,
      })
    },
  })
  const model = wrapLanguageModel({ model: bare, middleware: aiSdkMiddleware({ retries: 0, maxOutputTokens: 5 }) })
  const [live, later] = await caught(() => generateText({ model, prompt: 'p', maxRetries: 0 }))
  for (const error of [live, later]) {
    assert.ok(APICallError.isInstance(error))
    assert.equal([error.statusCode, error.message, error.isRetryable], [404, 'no such model', false])
  }
  assert.equal(members(live), members(later))
})

test.run()
