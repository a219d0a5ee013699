/** @module The maximum usage and cost of a request through the gateway, from its size in bytes and its output limit. Pure. */
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Reserve } from '../../../schemas/requests.ts'
import type { Rate } from '../../agent/models/model-usage.ts'
import { priceOf } from '../../agent/models/price-table.ts'
import { project } from '../../agent/models/projection.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { Provider } from './provider.ts'

/** For text and surrounding JSON, a token has at least two bytes. */
const BYTES_OF_TOKEN = 2

export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_OF_TOKEN)
}

export function tokensIn(text: string): number {
  return tokensOf(Buffer.byteLength(text))
}

export interface ProjectedRequest {
  readonly rate: Rate
  readonly inputTokens: number
  readonly reserve: Reserve
}

interface Projecting {
  readonly provider: Provider
  readonly file: GatewayFile
  readonly model: string
  readonly request: JsonObject
  readonly bytes: number
  readonly agent: string | undefined
}

export function projectedRequest({ provider, file, model, request, bytes, agent }: Projecting): ProjectedRequest {
  const price = priceOf(file.prices, provider.name, model)
  const rate: Rate = { provider: provider.name, model, price, currency: file.prices?.currency }
  const inputTokens = tokensOf(bytes)
  const byDefault = (price?.maxOutputTokens ?? file.maxOutputTokens) * provider.choices(request)
  const outputTokens = provider.dialect.boundIn(request) ?? byDefault
  const call = { agent, rate, inputTokens, outputTokens, maxOutputTokens: undefined, boundable: false }
  // An output limit is set, so `project` needs no limits here; the gateway checks separately whether the run has a cost limit.
  const { reserve } = project(call, { tokens: undefined, nano: undefined })
  return { rate, inputTokens, reserve: reserve as Reserve }
}
