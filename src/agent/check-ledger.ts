/** @module Validation rules for the options of a runtime and of its ledger client, applied when the runtime is opened. */
import type { ClientOptions } from '../client/client.ts'
import {
  aList,
  anObject,
  atLeast0,
  callable,
  checkOptions,
  either,
  milliseconds,
  type OptionRules,
  tries,
} from './option-rules.ts'
import type { RuntimeOptions } from './runtime/runtime.ts'

export const RUNTIME: OptionRules<RuntimeOptions> = {
  tokens: callable,
  // The content of the price table is validated where it is read, with `invalid-prices`.
  prices: anObject,
  codecs: aList,
  onWait: callable,
  onApproval: callable,
  onWaiting: callable,
  divergesAfterMs: milliseconds,
}

const CLIENT: OptionRules<ClientOptions> = {
  url: webAddress,
  token: either('a token (visible ASCII), or a function that gives one', visible, callable),
  fetch: callable,
  retries: tries,
  patienceMs: atLeast0,
  timeoutMs: atLeast0,
  backoffMs: atLeast0,
}

function webAddress(url: unknown): string | undefined {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  return parsed?.protocol === 'http:' || parsed?.protocol === 'https:'
    ? undefined
    : 'the address of a ledger, such as "http://127.0.0.1:7070"'
}

function visible(token: unknown): string | undefined {
  return typeof token === 'string' && /^[\x21-\x7e]+$/.test(token) ? undefined : 'a token'
}

/** Validates the options of `connect`. Throws `invalid-option`. */
export function checkConnect(options: object): void {
  checkOptions('connect', options, { ...CLIENT, ...RUNTIME }, ['url', 'token'])
}
