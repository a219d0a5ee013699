/** @module Commands for a model-based test: whatever is appended, read and followed in whatever order, the store agrees with a plain list. */

import fc from 'fast-check'
import * as assert from 'uvu/assert'
import type { AppendRecord } from '../../schemas/header.ts'
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { collect, headerId, record } from '../support/records.ts'

interface ModelEvent {
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly requestId: string | undefined
}

export interface StoreModel {
  readonly events: ModelEvent[]
}

export interface RealStore {
  store: EventStore
  readonly reopen?: () => Promise<EventStore>
}

type Command = fc.AsyncCommand<StoreModel, RealStore>

const STREAMS = [
  'run-acme.r1',
  'run-acme.r2',
  'ledger-acme',
  'access-acme.w',
  'run-acme-2.r1',
  'access-acme-2.w',
  'ledger-beta',
]
const TENANTS = ['acme', 'acme-2', 'beta', 'none']

interface Ask {
  readonly stream: string
  /** Distance from the revision that is right. */
  readonly off: number
  readonly requests: readonly (string | undefined)[]
}

const asks = fc.record({
  stream: fc.constantFrom(...STREAMS),
  off: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(-1, 1, 5) }),
  requests: fc.array(fc.option(fc.constantFrom('q1', 'q2', 'q3'), { nil: undefined, freq: 6 }), {
    minLength: 1,
    maxLength: 5,
  }),
})

/** Several appends in one turn: they must behave as if asked one after the other. */
class AppendBurst implements Command {
  readonly asked: readonly Ask[]
  constructor(asked: readonly Ask[]) {
    this.asked = asked
  }
  check(): boolean {
    return true
  }
  async run(model: StoreModel, { store }: RealStore): Promise<void> {
    const steps = this.asked.map((ask) => {
      const requests = ask.requests.filter((id, index, all) => id === undefined || all.indexOf(id) === index)
      const records = requests.map((requestId) => record(requestId === undefined ? {} : { requestId }))
      const expectedRevision = Math.max(headOf(model, ask.stream) + ask.off, -1)
      const expected = apply(model, ask.stream, expectedRevision, records)
      return { expected, result: store.append({ stream: ask.stream, expectedRevision, records }) }
    })
    for (const { expected, result } of steps) {
      const { position: _, ...answer } = { position: '', ...(await result) }
      assert.equal(answer, expected)
    }
  }
  toString(): string {
    return `append ${JSON.stringify(this.asked)}`
  }
}

class ReadStream implements Command {
  readonly stream: string
  readonly range: { readonly from?: number; readonly to?: number; readonly direction?: 'forwards' | 'backwards' }
  constructor(stream: string, range: ReadStream['range']) {
    this.stream = stream
    this.range = range
  }
  check(): boolean {
    return true
  }
  async run({ events }: StoreModel, { store }: RealStore): Promise<void> {
    const { from = 0, to = Number.POSITIVE_INFINITY, direction } = this.range
    const all = events.filter(({ stream }) => stream === this.stream)
    const wanted = all.filter(({ revision }) => revision >= from && revision <= to)
    if (direction === 'backwards') wanted.reverse()
    assert.equal((await collect(store.readStream(this.stream, this.range))).map(placed), wanted.map(placedInModel))
    assert.is(await store.head(this.stream), all.length - 1)
    for (const id of ['q1', 'q2', 'q3']) {
      assert.is(await store.findRequest(this.stream, id), all.find(({ requestId }) => requestId === id)?.revision)
    }
  }
  toString(): string {
    return `read ${this.stream} ${JSON.stringify(this.range)}`
  }
}

/** Reads and follows the same span, so that both must agree with the list. Bounds are fractions of what is there. */
class ReadAll implements Command {
  readonly span: { readonly after: number; readonly until: number; readonly tenant: string | undefined }
  constructor(span: ReadAll['span']) {
    this.span = span
  }
  check(): boolean {
    return true
  }
  async run({ events }: StoreModel, { store }: RealStore): Promise<void> {
    const all = await collect(store.readAll())
    assert.equal(all.map(placed), events.map(placedInModel))
    const [first, last] = [this.span.after, this.span.until].map((part) => Math.floor(part * events.length))
    const { tenant } = this.span
    const after = all[(first ?? 0) - 1]?.position
    const until = all[(last ?? 0) - 1]?.position
    const ofTenant = ({ stream }: ModelEvent): boolean =>
      tenant === undefined || stream === `ledger-${tenant}` || /^(run|access)-(.*)[.]/.exec(stream)?.[2] === tenant

    const read = await collect(store.readAll({ after, until, tenant }))
    const end = until === undefined ? events.length : last
    assert.equal(
      read.map(placed),
      events
        .slice(first, Math.max(end ?? 0, first ?? 0))
        .filter(ofTenant)
        .map(placedInModel),
    )

    const followed: ReadRecord[] = []
    const stop = new AbortController()
    for await (const step of store.subscribe({ after, tenant }, stop.signal)) {
      if (step === 'caught-up') stop.abort()
      else followed.push(...step)
    }
    assert.equal(followed.map(placed), events.slice(first).filter(ofTenant).map(placedInModel))
    assert.is(await store.end(), all.at(-1)?.position)
  }
  toString(): string {
    return `readAll ${JSON.stringify(this.span)}`
  }
}

class Reopen implements Command {
  check(): boolean {
    return true
  }
  async run(_model: StoreModel, real: RealStore): Promise<void> {
    if (real.reopen === undefined) return
    await real.store[Symbol.asyncDispose]()
    real.store = await real.reopen()
  }
  toString(): string {
    return 'reopen'
  }
}

const fractions = fc.double({ min: 0, max: 1, noNaN: true })
const revisions = fc.option(fc.nat(12), { nil: undefined })

export const storeCommands = fc.commands<StoreModel, RealStore, false>(
  [
    fc.array(asks, { minLength: 1, maxLength: 8 }).map((asked) => new AppendBurst(asked)),
    fc.array(asks, { minLength: 1, maxLength: 8 }).map((asked) => new AppendBurst(asked)),
    fc
      .record({ stream: fc.constantFrom(...STREAMS), from: revisions, to: revisions, back: fc.boolean() })
      .map(({ stream, from, to, back }) => {
        const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
        return new ReadStream(stream, { ...range, direction: back ? 'backwards' : 'forwards' })
      }),
    fc
      .record({
        after: fractions,
        until: fractions,
        tenant: fc.option(fc.constantFrom(...TENANTS), { nil: undefined }),
      })
      .map((span) => new ReadAll(span)),
    fc.constant(new Reopen()),
  ],
  { maxCommands: 30 },
)

function headOf({ events }: StoreModel, name: string): number {
  return events.filter(({ stream }) => stream === name).length - 1
}

/** The port's contract in ten lines: what an append must answer, and what it leaves. */
function apply(model: StoreModel, stream: string, expectedRevision: number, records: readonly AppendRecord[]): unknown {
  const actual = headOf(model, stream)
  if (expectedRevision !== actual) return { kind: 'conflict', actual }
  for (const { requestId } of records) {
    const found = model.events.find((event) => event.stream === stream && event.requestId === requestId)
    if (requestId !== undefined && found) return { kind: 'duplicate-request', requestId, revision: found.revision }
  }
  for (const [index, { id, requestId }] of records.entries()) {
    model.events.push({ stream, revision: actual + 1 + index, id, requestId })
  }
  return { kind: 'appended', revision: actual + records.length }
}

function placed(read: ReadRecord): unknown {
  return [read.stream, read.revision, headerId(read)]
}

function placedInModel({ stream, revision, id }: ModelEvent): unknown {
  return [stream, revision, id]
}
