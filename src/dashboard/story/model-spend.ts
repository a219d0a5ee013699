/** @module Cost per model, from recorded usage. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import { addMoney } from '../../../schemas/money.ts'

export interface ModelSpend {
  /** `provider/model`, as far as they were named. */
  readonly name: string
  tokens: number
  cost: string
  calls: number
}

export function foldModelSpend(
  models: Map<string, ModelSpend>,
  { data }: Extract<RecordedEvent, { type: 'UsageRecorded' }>,
): void {
  const { provider, model, tokens, cost } = data.usage
  const name = [provider, model].filter((part) => part !== undefined).join('/')
  const known = models.get(name) ?? { name, tokens: 0, cost: '0', calls: 0 }
  known.tokens += tokens
  known.cost = addMoney(known.cost, cost ?? '0')
  known.calls += 1
  models.set(name, known)
}
