/**
 * @module A projection's script, run as the server's interpreter runs it: the definition functions while it compiles, then one call an event, on a
 * state that is kept as text between events. Read in the server's source and documentation: which member follows which, that a
 * handler's undefined keeps the state, that `data` and `metadata` are parsed when requested, bigints written as text, members that are
 * undefined left out, 64 levels at most, no compilation of strings. Not measured, and not here: the 250 ms that an event may take.
 */
import { createContext, Script } from 'node:vm'
import type { LoggedEvent } from './log.ts'

/** Runs inside: objects of this realm would not be of the script's own classes. */
const PRELUDE = `(() => {
  'use strict'
  const after = {
    fromCategory: ['when', 'partitionBy', 'outputState', 'foreachStream'], fromStream: ['when', 'partitionBy', 'outputState'],
    fromAll: ['when', 'partitionBy', 'outputState', 'foreachStream'], foreachStream: ['when'], partitionBy: ['when'],
    when: ['transformBy', 'filterBy', 'outputState', 'outputTo'], outputState: ['transformBy', 'filterBy', 'outputTo'],
  }
  const definition = { source: undefined, category: undefined, byStream: false, outputsState: false, handlers: {} }
  const chain = (name) => Object.fromEntries((after[name] ?? []).map((next) => [next, (...args) => step(next, args)]))
  const step = (name, args) => {
    if (name === 'foreachStream') definition.byStream = true
    else if (name === 'when') Object.assign(definition.handlers, args[0])
    else if (name === 'outputState') definition.outputsState = true
    else throw new Error(name + ' is not part of this node')
    return chain(name)
  }
  globalThis.fromCategory = (category) => {
    if (typeof category !== 'string') throw new TypeError('category')
    Object.assign(definition, { source: 'category', category })
    return chain('fromCategory')
  }
  globalThis.fromAll = () => {
    definition.source = 'all'
    return chain('fromAll')
  }
  globalThis.log = () => undefined
  // Of ES2023, which the interpreter of 23.10 may not know.
  for (const name of ['toReversed', 'toSorted', 'toSpliced', 'with', 'findLast', 'findLastIndex']) delete Array.prototype[name]

  const DEPTH_MAX = 64
  const written = (value, depth) => {
    if (typeof value === 'bigint') return String(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth === DEPTH_MAX) throw new RangeError('Index was outside the bounds of the array.')
    if (Array.isArray(value)) return value.map((each) => written(each, depth + 1))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, written(each, depth + 1)]))
  }
  // As the interpreter of 23.10 reads JSON: read in its source.
  const parsed = (text) => {
    if (/[\\u2028\\u2029]/.test(text)) throw new SyntaxError('Unexpected token ILLEGAL in JSON')
    return JSON.parse(text, (name, value) => {
      if (/[\\u0000-\\u0008\\u000a-\\u001f]/.test(name)) throw new SyntaxError('Invalid character in JSON')
      return value
    })
  }
  const eventOf = (raw) => Object.create(null, {
    ...Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, { value, enumerable: true }])),
    data: { get: () => (raw.isJson ? parsed(raw.bodyRaw) : undefined) },
    body: { get: () => (raw.isJson ? parsed(raw.bodyRaw) : undefined) },
    metadata: { get: () => parsed(raw.metadataRaw) },
  })
  return {
    compiled: () => {
      for (const name of ['fromCategory', 'fromAll']) delete globalThis[name]
      if (definition.source === undefined) throw new Error("No source was defined: fromAll(), fromCategory() ...")
      return JSON.stringify(definition)
    },
    handle: (text, rawText) => {
      const { handlers } = definition
      const raw = JSON.parse(rawText)
      let state = text === undefined ? (handlers.$init === undefined ? {} : handlers.$init()) : parsed(text)
      if (!(raw.isJson && raw.bodyRaw.trim() === '')) {
        const handler = handlers[raw.eventType] ?? handlers.$any
        if (handler !== undefined) state = handler(state, eventOf(raw)) ?? state
      }
      return JSON.stringify(written(state, 0)).replace(/\\u2028/g, '\\\\u2028').replace(/\\u2029/g, '\\\\u2029')
    },
  }
})()`

interface Runtime {
  readonly compiled: () => string
  readonly handle: (state: string | undefined, event: string) => string
}

interface Definition {
  readonly source: 'category' | 'all'
  readonly category?: string
  readonly byStream: boolean
}

export class ProjectionScript {
  readonly definition: Definition
  readonly #runtime: Runtime

  /** Throws what the script throws. */
  constructor(source: string) {
    const context = createContext({}, { codeGeneration: { strings: false, wasm: false } })
    this.#runtime = new Script(PRELUDE).runInContext(context) as Runtime
    new Script(source, { filename: 'projection.js' }).runInContext(context)
    this.definition = JSON.parse(this.#runtime.compiled())
  }

  /** The state after the event, as text. Throws what a handler throws. */
  handle(state: string | undefined, event: LoggedEvent): string {
    return this.#runtime.handle(state, JSON.stringify(rawEvent(event, this.definition)))
  }
}

function rawEvent(event: LoggedEvent, { byStream }: Definition): object {
  return {
    streamId: event.stream,
    sequenceNumber: Number(event.revision),
    eventType: event.type,
    eventId: event.id,
    isJson: event.contentType === 'application/json',
    bodyRaw: Buffer.from(event.data).toString('utf8'),
    metadataRaw: Buffer.from(event.metadata).toString('utf8'),
    partition: byStream ? event.stream : '',
    category: categoryOf(event.stream),
  }
}

/** The server's default: what stands before the first dash. */
export function categoryOf(stream: string): string {
  return stream.slice(0, Math.max(stream.indexOf('-'), 0))
}
