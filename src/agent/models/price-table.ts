/** @module Prices as an author passes them, and what tokens cost by them: integers of 1e-9, never a float. None is built in as truth. */
import { fromNano, toNano } from '../../../schemas/money.ts'
import { isCurrency, isMoney } from '../../../schemas/value-forms.ts'
import { AgentError } from '../errors.ts'

/** What a model call used, in tokens. */
export interface ModelUsage {
  /** All input, the cached part included. */
  readonly inputTokens: number
  /** All output, reasoning included. */
  readonly outputTokens: number
  readonly cachedInputTokens?: number
  readonly cacheWriteTokens?: number
}

/** Per million tokens, as decimal strings such as `'2.50'`. */
export interface Price {
  readonly input: string
  readonly output: string
  /** Input read from the provider's cache; default: as `input`. */
  readonly cachedInput?: string
  /** Input written to the provider's cache; default: as `input`. */
  readonly cacheWrite?: string
  /** The most that the model can answer with, in tokens: the bound of a call that names none. */
  readonly maxOutputTokens?: number
}

/** What models cost. Throws `invalid-prices` where it is passed and cannot be used. */
export interface PriceTable {
  /** ISO 4217 form, such as `USD`: the currency of the runs' budgets. */
  readonly currency: string
  /** By `provider/model`, or by the model's name alone. */
  readonly models: Readonly<Record<string, Price>>
}

const MILLION = 1_000_000n
const MEMBERS = ['input', 'output', 'cachedInput', 'cacheWrite'] as const

/** Throws `invalid-prices`: a table is judged when it is passed, not when money is at stake. */
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

/** Exact, and rounded up once, to the next 1e-9. */
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

/** What tokens cost at most: input at the dearest way to read or write it. */
export function pricedAtMost(price: Price, tokens: { readonly input: number; readonly output: number }): string {
  const input = dearest([price.input, price.cachedInput ?? '0', price.cacheWrite ?? '0'])
  return priced({ input, output: price.output }, { inputTokens: tokens.input, outputTokens: tokens.output })
}

/** Whatever is read and said, it costs nothing. */
export function isFree({ input, output, cachedInput = '0', cacheWrite = '0' }: Price): boolean {
  return [input, output, cachedInput, cacheWrite].every((amount) => toNano(amount) === 0n)
}

/** How many tokens of output an amount pays for. */
export function outputFor(price: Price, nano: bigint): number | undefined {
  const perMillion = toNano(price.output)
  if (perMillion === 0n) return undefined
  const tokens = (nano * MILLION) / perMillion
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(tokens)
}

function dearest(prices: readonly string[]): string {
  return prices.reduce((dear, price) => (toNano(price) > toNano(dear) ? price : dear))
}
