/** @module Prices passed by an author and the cost of tokens, in integers of 1e-9, never floats. No prices are built in. */
import { fromNano, toNano } from '../../../schemas/money.ts'
import { isCurrency, isMoney } from '../../../schemas/value-forms.ts'
import { AgentError } from '../errors.ts'

/** Usage of a model call, in tokens. */
export interface ModelUsage {
  /** All input, including the cached part. */
  readonly inputTokens: number
  /** All output, including reasoning. */
  readonly outputTokens: number
  readonly cachedInputTokens?: number
  readonly cacheWriteTokens?: number
}

/** Per million tokens, as decimal strings such as `'2.50'`. */
export interface Price {
  readonly input: string
  readonly output: string
  /** Input read from the provider's cache; default: the price of `input`. */
  readonly cachedInput?: string
  /** Input written to the provider's cache; default: the price of `input`. */
  readonly cacheWrite?: string
  /** Maximum output of the model in tokens, used as the limit of a call that sets none. */
  readonly maxOutputTokens?: number
}

/** Prices of models. An unusable table throws `invalid-prices` where it is passed. */
export interface PriceTable {
  /** ISO 4217 form, such as `USD`: the currency of the runs' budgets. */
  readonly currency: string
  /** Keyed by `provider/model`, or by the model's name alone. */
  readonly models: Readonly<Record<string, Price>>
}

const MILLION = 1_000_000n
const MEMBERS = ['input', 'output', 'cachedInput', 'cacheWrite'] as const

/** Validates a table when it is passed, not only when a call is priced. Throws `invalid-prices`. */
export function checkedPrices(table: PriceTable): PriceTable {
  if (!isCurrency(table.currency)) {
    throw invalid(`the currency of a price table is three capital letters, not ${table.currency}`)
  }
  const models: unknown = table.models
  if (typeof models !== 'object' || models === null) throw invalid('a price table has models, each with its price')
  for (const [model, price] of Object.entries(table.models)) {
    if (typeof price !== 'object' || price === null) throw invalid(`the price of ${model} is { input, output }`)
    for (const member of MEMBERS) {
      const amount: unknown = price[member]
      if (amount === undefined && member !== 'input' && member !== 'output') continue
      if (isMoney(amount)) continue
      throw invalid(`the ${member} price of ${model} is a decimal string per million tokens, such as "2.50"`)
    }
    const { maxOutputTokens: most } = price
    if (most !== undefined && !(Number.isSafeInteger(most) && most > 0)) {
      throw invalid(`maxOutputTokens of ${model} is a whole number above 0`)
    }
  }
  return table
}

function invalid(message: string): AgentError {
  return new AgentError('invalid-prices', message)
}

export function priceOf(table: PriceTable | undefined, provider: string, model: string): Price | undefined {
  const models: PriceTable['models'] = table?.models ?? {}
  const names = [`${provider}/${model}`, model]
  const priced = names.find((name) => Object.hasOwn(models, name))
  return priced === undefined ? undefined : models[priced]
}

/** Computed exactly, and rounded up once, to the next 1e-9. */
export function priced(price: Price, usage: ModelUsage): string {
  const { inputTokens, outputTokens } = usage
  const cached = Math.min(usage.cachedInputTokens ?? 0, inputTokens)
  const written = Math.min(usage.cacheWriteTokens ?? 0, inputTokens - cached)
  const parts = [
    [inputTokens - cached - written, price.input],
    [cached, price.cachedInput ?? price.input],
    [written, price.cacheWrite ?? price.input],
    [outputTokens, price.output],
  ] as const
  const sum = parts.reduce((total, [tokens, perMillion]) => total + BigInt(tokens) * toNano(perMillion), 0n)
  return fromNano((sum + MILLION - 1n) / MILLION)
}

/** Maximum cost of tokens: input is charged at the highest of the input prices. */
export function pricedAtMost(price: Price, tokens: { readonly input: number; readonly output: number }): string {
  const input = dearest([price.input, price.cachedInput ?? '0', price.cacheWrite ?? '0'])
  return priced({ input, output: price.output }, { inputTokens: tokens.input, outputTokens: tokens.output })
}

/** Whether all prices are 0. */
export function isFree({ input, output, cachedInput = '0', cacheWrite = '0' }: Price): boolean {
  return [input, output, cachedInput, cacheWrite].every((amount) => toNano(amount) === 0n)
}

/** Number of output tokens that an amount pays for; undefined if it is unlimited. */
export function outputFor(price: Price, nano: bigint): number | undefined {
  const perMillion = toNano(price.output)
  if (perMillion === 0n) return undefined
  const tokens = (nano * MILLION) / perMillion
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(tokens)
}

function dearest(prices: readonly string[]): string {
  return prices.reduce((dear, price) => (toNano(price) > toNano(dear) ? price : dear))
}
