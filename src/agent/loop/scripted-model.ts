/** @module A model that follows a script, for tests and for examples without an API key. */
import type { Json } from '../../../schemas/json.ts'
import { AgentError } from '../errors.ts'
import type { AssistantMessage, Message, ToolRequest } from './messages.ts'

/** A call that a scripted model requests. */
export interface ScriptedCall {
  readonly tool: string
  readonly args?: Json
}

type ScriptedTurn =
  /** The answer. */
  | string
  /** One call, or several calls in the same turn. */
  | ScriptedCall
  | readonly ScriptedCall[]
  /** Computes the turn from the conversation so far. */
  | ((messages: readonly Message[]) => Exclude<ScriptedTurn, (...args: never) => unknown>)

/**
 * Answers the nth turn of a conversation with the nth entry of the script, so that a resumed run gets the same answers. For tests, and for examples without an
 * API key. Throws `script-over` beyond the last turn.
 * @example
 * ```ts
 * import { agent, open, ScriptedModel } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const parrot = agent({ model: new ScriptedModel(['hello']), tools: [] })
 * const { text, turns } = await cs.run({ name: 'talk' }, async () => parrot.generate({ prompt: 'Say hello.' }))
 * console.log(text, turns) // hello 1
 * ```
 */
export class ScriptedModel {
  readonly name: string
  readonly #turns: readonly ScriptedTurn[]

  constructor(turns: readonly ScriptedTurn[], name = 'scripted') {
    this.#turns = turns
    this.name = name
  }

  /** The next turn of the script. Throws `script-over` beyond the last one. */
  complete(messages: readonly Message[]): AssistantMessage {
    const number = messages.filter(({ role }) => role === 'assistant').length
    const turn = this.#turns[number]
    if (turn === undefined) throw new AgentError('script-over', `the script of ${this.name} has ${number} turns`)
    const says = typeof turn === 'function' ? turn(messages) : turn
    if (typeof says === 'string') return { role: 'assistant', content: says }
    const calls: readonly ScriptedCall[] = Array.isArray(says) ? says : [says as ScriptedCall]
    return { role: 'assistant', toolCalls: calls.map((call, i) => requestOf(call, `call-${number + 1}.${i + 1}`)) }
  }
}

function requestOf({ tool, args = {} }: ScriptedCall, id: string): ToolRequest {
  return { id, name: tool, arguments: args }
}
