/** @module Streams that end: exports with a trailer that proves them whole, and the replay of a run. */
import { EXPORT_VERSION, exportDigest, exportLine, exportTrailer } from '../../export/jsonl.ts'
import type { LedgerEvent, ReplayLine } from '../../ledger/ledger.ts'
import type { Position } from '../../store/event-store.ts'
import { problemResponse } from '../answers.ts'
import { openStream } from '../open-stream.ts'
import { NoQuery } from '../query.ts'
import { type Ask, type GuardedRoute, RUN_READERS, readRoute } from '../route.ts'

const tag = 'history'
const produces = 'application/x-ndjson'
const PORTION_CHARS = 64 * 1024

export const exportRoutes: readonly GuardedRoute[] = [
  readRoute({
    path: '/v1/export',
    summary: "All the tenant's events as JSONL, up to the moment of asking",
    tag,
    scopes: ['audit:export'],
    query: NoQuery,
    produces,
    handle: async (ask) => {
      const until = await ask.edge.ledger.end()
      const pages = until === undefined ? none() : ask.edge.ledger.tenantEvents(ask.caller, { until })
      return exported(ask, pages, until)
    },
  }),
  readRoute({
    path: '/v1/runs/{run}/export',
    summary: 'All events of a run as JSONL, up to the moment of asking',
    tag,
    scopes: ['audit:export'],
    query: NoQuery,
    produces,
    handle: async (ask) => {
      const { edge, caller, run, path } = ask
      const state = await edge.ledger.run(caller, run)
      if (!state.ok) return problemResponse(state.refusal, path)
      const found = await edge.ledger.runEvents(caller, run, { from: 0, to: state.revision })
      if (!found.ok) return problemResponse(found.refusal, path)
      return exported(ask, found.value, await edge.ledger.end())
    },
  }),
  readRoute({
    path: '/v1/runs/{run}/replay',
    summary: 'Reread, verify and fold a run anew: one line a step, a verdict last',
    tag,
    scopes: RUN_READERS,
    query: NoQuery,
    produces,
    handle: async (ask) => {
      const found = await ask.edge.ledger.replay(ask.caller, ask.run)
      if (!found.ok) return problemResponse(found.refusal, ask.path)
      return openStream(ask, { contentType: produces, chunks: () => replayChunks(found.value) })
    },
  }),
]

function exported(ask: Ask, pages: AsyncIterable<readonly LedgerEvent[]>, asOf: Position | undefined): Response {
  const name = ask.run === '' ? ask.caller.tenant : ask.run
  return openStream(ask, {
    contentType: produces,
    // Names of runs and tenants need no quoting: their alphabets hold neither quote nor slash.
    headers: { 'content-disposition': `attachment; filename="${name}.jsonl"` },
    chunks: () => exportChunks(ask, pages, asOf),
  })
}

async function* exportChunks(
  { edge, caller, run }: Ask,
  pages: AsyncIterable<readonly LedgerEvent[]>,
  asOf: Position | undefined,
): AsyncGenerator<Uint8Array, void> {
  const digest = exportDigest()
  let events = 0
  for await (const page of pages) {
    events += page.length
    for (const chunk of portions(page)) {
      digest.update(chunk)
      yield chunk
    }
  }
  const trailer = {
    v: EXPORT_VERSION,
    ledgerId: edge.ledger.ledgerId,
    tenant: caller.tenant,
    run: run === '' ? null : run,
  } as const
  yield Buffer.from(exportTrailer({ ...trailer, events, digest: digest.text(), asOf: asOf ?? null }))
}

function* portions(page: readonly LedgerEvent[]): Generator<Uint8Array> {
  let text = ''
  for (const { texts } of page) {
    text += exportLine(texts)
    if (text.length < PORTION_CHARS) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

async function* replayChunks(lines: AsyncIterable<ReplayLine>): AsyncGenerator<Uint8Array, void> {
  for await (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`)
}

async function* none(): AsyncGenerator<readonly LedgerEvent[], void> {}
