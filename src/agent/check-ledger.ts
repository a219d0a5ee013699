/** @module The options of a runtime and of its ledger, judged where it is opened. */
import type { ClientOptions } from '../client/client.ts'
import {
  aList,
  anything,
  callable,
  checkOptions,
  either,
  milliseconds,
  type OptionRules,
  text,
  tries,
} from './option-rules.ts'
import type { RuntimeOptions } from './runtime/runtime.ts'

export const RUNTIME: OptionRules<RuntimeOptions> = {
  tokens: callable,
  prices: anything,
  codecs: aList,
  onWait: callable,
  onApproval: callable,
  onWaiting: callable,
  divergesAfterMs: milliseconds,
}

const CLIENT: OptionRules<ClientOptions> = {
  url: text,
  token: either('a token, or a function that gives one', text, callable),
  fetch: callable,
  retries: tries,
  patienceMs: tries,
  timeoutMs: tries,
  backoffMs: tries,
}

/** Throws `invalid-option`. */
export function checkConnect(options: object): void {
  checkOptions('connect', options, { ...CLIENT, ...RUNTIME })
}
