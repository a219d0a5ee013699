/** @module The usage of a model call, in the form in which the ledger counts it. */
import { isTokens } from '../../../schemas/value-forms.ts'
import type { Usage } from '../../../schemas/values.ts'
import { type ModelUsage, type Price, priced } from './price-table.ts'

/** The model and its price. If `price` is undefined, no cost is recorded. */
export interface Rate {
  readonly provider: string
  readonly model: string
  readonly price: Price | undefined
  readonly currency: string | undefined
}

/** `estimated`: the tokens were counted here, not reported by the provider. */
export function recordedUsage(used: ModelUsage, rate: Rate, estimated: boolean): Usage {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = used
  const { provider, model, price, currency } = rate
  return {
    tokens: inputTokens + outputTokens,
    inputTokens,
    outputTokens,
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(price !== undefined && { cost: priced(price, used) }),
    ...(price !== undefined && currency !== undefined && { currency }),
    provider,
    model,
    ...(estimated && { estimated }),
  }
}

/** Returns usage whose counts are whole numbers from 0 that the ledger takes, with their sum; undefined for any other report of a provider. */
export function soundUsage(usage: ModelUsage | undefined): ModelUsage | undefined {
  if (usage === undefined) return undefined
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage
  const counts = [inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, inputTokens + outputTokens]
  return counts.every(isTokens) ? usage : undefined
}
