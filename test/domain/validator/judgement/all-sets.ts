/** @module All labelled handoffs: those of the project by name, and sets that lie beside a checkout, where they do. */
import { existsSync, readFileSync } from 'node:fs'
import * as blindCare from './blind/care.ts'
import * as goods from './blind/goods.ts'
import { brokenSteps, innocentSteps, spoiltSteps } from './bookkeeping/steps.ts'
import type { Labelled } from './confusion.ts'
import { CARE } from './fresh/care.ts'
import { MONEY } from './fresh/money.ts'
import { WORK } from './fresh/work.ts'
import { INDUSTRY } from './held/industry.ts'
import { SERVICE } from './held/service.ts'
import { PEOPLE } from './strange/people.ts'
import { PLANTS } from './strange/plants.ts'
import { CRAFT } from './unseen/craft.ts'
import { NATURE } from './unseen/nature.ts'

const read = (path: string): readonly Labelled[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Labelled)

const beside = ['handoffs', 'handoffs3'].flatMap((name): [string, readonly Labelled[]][] => {
  const path = `../shared/data/${name}.jsonl`
  return existsSync(path) ? [[`${name} beside the checkout`, read(path)]] : []
})

export const ALL_SETS: ReadonlyMap<string, readonly Labelled[]> = new Map([
  ['judgement.jsonl', read('test/vectors/validator/judgement.jsonl')],
  ['fresh', [...CARE, ...MONEY, ...WORK]],
  ['blind', [...goods.GOODS, ...blindCare.CARE]],
  ['held', [...SERVICE, ...INDUSTRY]],
  ['strange', [...PEOPLE, ...PLANTS]],
  ['unseen', [...CRAFT, ...NATURE]],
  ['bookkeeping', [...innocentSteps, ...spoiltSteps, ...brokenSteps]],
  ...beside,
])
