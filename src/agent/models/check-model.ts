/** @module Validates the settings of model calls where they are passed in (RUN-192). */
import { TOKENS_MAX } from '../../../schemas/value-forms.ts'
import { BACKOFF, LEASE } from '../calls/check-tool.ts'
import {
  aName,
  anObject,
  callable,
  checkOptions,
  either,
  group,
  type OptionRules,
  oneOf,
  type Rule,
  timeout,
  tries,
  within,
} from '../option-rules.ts'
import type { ModelSettings } from './model-settings.ts'

export const MODEL_SETTINGS: OptionRules<ModelSettings> = {
  agent: aName,
  // The members of a price are checked like those of a price table.
  price: either('a price, or "free"', oneOf('free'), anObject),
  maxOutputTokens: within(0, TOKENS_MAX),
  countTokens: callable,
  record: oneOf('content', 'digest'),
  onMissing: oneOf('stop', 'call'),
  redact: callable,
  retries: tries,
  backoff: group(BACKOFF, ['type', 'delayMs']),
  timeout,
  leaseMs: LEASE,
}

/** Validates the settings of a model wrapper. Throws `invalid-option`. `more`: rules for further options of this wrapper. */
export function checkModelSettings(of: string, settings: unknown, more: Readonly<Record<string, Rule>> = {}): void {
  checkOptions<object>(of, settings, { ...MODEL_SETTINGS, ...more })
}
