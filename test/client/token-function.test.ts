/** A token function that hangs, throws or gives an old token for a while is asked again, within a limit and within the client's patience. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type ClientOptions, createClient } from '../../src/client/client.ts'
import { LedgerError, UnreachableError } from '../../src/client/errors.ts'
import { within } from '../support/within.ts'

const test = suite('a token function')

const REFUSED = { code: 'unauthenticated', detail: 'the token has expired' }

/** A ledger that takes the token `good` only. */
function ledgerWith(token: ClientOptions['token'], more: Partial<ClientOptions> = {}) {
  const sent: Record<string, string>[] = []
  const fetch = async (_: string, init: RequestInit): Promise<Response> => {
    const headers = init.headers as Record<string, string>
    sent.push(headers)
    return headers.authorization === 'Bearer good' ? Response.json({}) : Response.json(REFUSED, { status: 401 })
  }
  return { sent, client: createClient({ url: 'http://ledger.test', token, fetch, backoffMs: 1, ...more }) }
}

/** A token function that does these things in turn, and then gives the good token. */
function inTurn(...turns: (() => unknown)[]): () => Promise<string> {
  return async () => ((await turns.shift()?.()) ?? 'good') as string
}

const complete = ({ client }: ReturnType<typeof ledgerWith>, signal?: AbortSignal) =>
  client.execute('r', { kind: 'complete', body: {} }, { ...(signal && { signal }) })
const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  within(
    work.then(() => undefined).catch((error: unknown) => error),
    'the error',
  )
const hang = (): Promise<never> => new Promise(() => undefined)
const fail = (): never => {
  throw new Error('the issuer is down')
}

test('that hangs for one request is asked again after its limit (A594, HTTP-115)', async () => {
  const ledger = ledgerWith(inTurn(hang), { timeoutMs: 30 })
  await within(complete(ledger), 'the answer')
  assert.is(ledger.sent.length, 1)
})

test('that never answers is an error which says so, within the patience (A594, HTTP-115)', async () => {
  const ledger = ledgerWith(hang, { timeoutMs: 20, patienceMs: 60 })
  const error = await thrownBy(complete(ledger))
  assert.instance(error, UnreachableError)
  assert.match((error as Error).message, /the token function did not answer within 20 ms/)
  assert.equal(ledger.sent, [])
})

test('that hangs does not outlast the signal of the caller (HTTP-115)', async () => {
  const leaving = new AbortController()
  const error = thrownBy(complete(ledgerWith(hang), leaving.signal))
  leaving.abort(new Error('no longer wanted'))
  assert.is(((await error) as Error).message, 'no longer wanted')
})

test('that throws, gives nothing, or gives an old token is asked anew for each attempt, under one key (A595, HTTP-115)', async () => {
  const turns = [fail, () => '', () => 42, () => 'line\nbreak', () => 'old', () => 'older', fail]
  const ledger = ledgerWith(inTurn(...turns))
  await complete(ledger)
  assert.equal(
    ledger.sent.map(({ authorization }) => authorization),
    ['Bearer old', 'Bearer older', 'Bearer good'],
  )
  assert.is(new Set(ledger.sent.map((headers) => headers['idempotency-key'])).size, 1)
})

test('that goes on throwing is an error with its own message, and a token that goes on being refused is that refusal (A595, HTTP-115)', async () => {
  const thrown = await thrownBy(complete(ledgerWith(fail, { patienceMs: 20 })))
  assert.instance(thrown, UnreachableError)
  assert.match((thrown as Error).message, /the token function failed: the issuer is down/)
  const refused = await thrownBy(complete(ledgerWith(() => 'old', { patienceMs: 20 })))
  assert.instance(refused, LedgerError)
  assert.is((refused as LedgerError).message, REFUSED.detail)
})

test('is not what a fixed token is: a refused one is an error at once (HTTP-115)', async () => {
  const ledger = ledgerWith('old')
  assert.instance(await thrownBy(complete(ledger)), LedgerError)
  assert.is(ledger.sent.length, 1)
})

test.run()
