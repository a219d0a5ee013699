/** @module `langchainHandler` records the usage of LangChain models. It cannot stop a call. */
import { LedgerRefused } from '../errors.ts'
import { reach } from '../runtime/session.ts'
import { type Fields, fieldsIn } from './dialect.ts'
import { usageOfMessage } from './lang-chain.ts'
import { recordedUsage } from './model-usage.ts'
import { priceOf } from './price-table.ts'
import { placeOfModelCall } from './track-client.ts'

/** The provider, model and agent whose usage the handler records. */
export interface HandlerSettings {
  readonly provider: string
  readonly model: string
  /** The agent whose budget is charged; default: the agent of the step, else the provider's name. */
  readonly agent?: string
}

/** The part of LangChain's callback handlers that is used. */
export interface UsageHandler {
  readonly awaitHandlers: true
  readonly handleLLMEnd: (output: unknown) => Promise<void>
}

/**
 * Callback handler for `{callbacks: [langchainHandler({provider, model})]}`; must be created inside a run. It **only records** the usage of each call after the fact,
 * as overshoot if it exceeds the budget: LangChain runs a model even if a handler throws. Nothing is reserved, refused, retried or served, and a resumed run calls
 * its models again. To enforce a budget, wrap the model by `trackRunnable` instead; do not use both.
 * @example
 * ```ts
 * import { FakeListChatModel } from '@langchain/core/utils/testing'
 * import { langchainHandler, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const chat = new FakeListChatModel({ responses: ['hello'] })
 * const text = await cs.run({ name: 'ask' }, async () => {
 *   const callbacks = [langchainHandler({ provider: 'fake', model: 'list' })]
 *   return String((await chat.invoke('Say hello.', { callbacks })).content)
 * })
 * console.log(text)
 * ```
 */
export function langchainHandler({ provider, model, agent }: HandlerSettings): UsageHandler {
  const execution = placeOfModelCall('langchainHandler')
  const { session } = execution
  const price = priceOf(session.prices, provider, model)
  const rate = { provider, model, price, currency: session.prices?.currency }

  const record = async (output: unknown): Promise<void> => {
    const used = usageIn(output)
    const { live, runId } = session
    if (used === undefined || live === undefined) return
    const body = { agent: agent ?? execution.step?.agent ?? provider, usage: recordedUsage(used, rate, false) }
    const reply = await reach(session, () => live.connection.execute(runId, { kind: 'usage', body }))
    if (!reply.ok) throw session.fail(new LedgerRefused(reply.problem))
  }
  return {
    awaitHandlers: true,
    // The run waits for this record and learns of its failure, which LangChain would only log.
    handleLLMEnd: (output) => session.joined(`usage ${crypto.randomUUID()}`, 'langchainHandler', () => record(output)),
  }
}

function usageIn(output: unknown) {
  const { generations, llmOutput } = fieldsIn(output)
  const [first] = (Array.isArray(generations) ? generations.flat() : []) as readonly Fields[]
  return usageOfMessage(first?.message, llmOutput)
}
