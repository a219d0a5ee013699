/** @module Lists of tools that the proxy asks for itself: where definitions are pinned, and a call comes before the host has read them. */
import type { Buffer } from 'node:buffer'
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import { withTimeout } from '../resources/with-timeout.ts'
import type { DefinitionsRecord } from './definitions-record.ts'
import { type Answer, listLine, OWN_ID, readServerLine, type ToolCall } from './json-rpc.ts'

/** Hosts usually wait for 60 seconds. */
const LIST_MS = 15_000

/** The path to the server. */
export interface ToServer {
  readonly toServer: (parts: readonly (Buffer | string)[]) => Promise<void>
  /** Sends a request of the proxy's own; the messages that come back for it alone. Absent where answers come with everything else. */
  readonly asksServer?: (line: string) => AsyncIterable<Buffer>
}

type Asking = PromiseWithResolvers<Answer>

export class OwnLists {
  readonly #definitions: DefinitionsRecord
  readonly #asked = new Map<string, Asking>()
  #count = 0

  constructor(definitions: DefinitionsRecord) {
    this.#definitions = definitions
  }

  /** Reads the definitions on the route of the call. Returns why they could not be read. */
  async read(call: ToolCall, route: ToServer): Promise<string | undefined> {
    const reading = this.#definitions.read((cursor) => this.#page(call, route, cursor))
    try {
      await withTimeout(reading, LIST_MS, () => new Error(`no answer in ${LIST_MS / 1_000} s`))
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      return `the definitions of the tools are pinned, and could not be read (${why}): ask again`
    }
    return this.#definitions.isUnread
      ? 'the definitions of the tools changed while they were read: ask again'
      : undefined
  }

  /** Takes an answer to a request of the proxy; false if it is none. */
  answered(answer: Answer): boolean {
    const asking = this.#asked.get(String(answer.id))
    asking?.resolve(answer)
    return asking !== undefined
  }

  /** Nothing is answered any more. */
  end(reason: string): void {
    for (const { reject } of this.#asked.values()) reject(new Error(reason))
  }

  async #page(call: ToolCall, route: ToServer, cursor: string | undefined): Promise<JsonObject> {
    this.#count += 1
    const id = `${OWN_ID}tools-${this.#count}`
    const line = listLine(id, call, cursor)
    const { result } = await (route.asksServer === undefined
      ? this.#asks(id, line, route)
      : answerAmong(route.asksServer(line), id))
    if (!isJsonObject(result)) throw new Error('the server answers tools/list with an error')
    return result
  }

  async #asks(id: string, line: string, route: ToServer): Promise<Answer> {
    const asking = Promise.withResolvers<Answer>()
    this.#asked.set(id, asking)
    try {
      await route.toServer([line])
      return await asking.promise
    } finally {
      this.#asked.delete(id)
    }
  }
}

async function answerAmong(messages: AsyncIterable<Buffer>, id: string): Promise<Answer> {
  for await (const message of messages) {
    const found = readServerLine(message).answers.find((answer) => answer.id === id)
    if (found !== undefined) return found
  }
  throw new Error('the server ended its answer without a list')
}
