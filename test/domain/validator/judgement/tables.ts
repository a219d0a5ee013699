/**
 * @module A case for every word of the tables of the validator, in both directions: what the word lets pass, and what it must not. The words are written
 * down here a second time, so that a line that is deleted there is missed here.
 */
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import {
  CONVERSIONS,
  CURRENCY_CODES,
  CURRENCY_NAMES,
  CURRENCY_SCALES,
  CURRENCY_SIGNS,
  ROOM_TEMPERATURE,
} from './units-of-tables.ts'

export interface TableCase {
  /** File and name of the table. */
  readonly table: string
  readonly word: string
  readonly before: JsonObject
  readonly after: JsonObject
  /** Whether anything is said of the change: by default it is then suspect or refused. */
  readonly isSaid: boolean
}

type Change = readonly [before: JsonObject, after: JsonObject]

/** `silent` are changes of which nothing is said, `said` are others with the same word. */
interface Table {
  readonly table: string
  readonly words: string
  readonly silent?: (word: string) => readonly Change[]
  readonly said?: (word: string) => readonly Change[]
}

/** Below `facts` a change that is only usual is suspect; below `job` it is not. */
const fact = (key: string, before: Json, after: Json): Change => [
  { facts: { [key]: before } },
  { facts: { [key]: after } },
]
const job = (key: string, before: Json, after: Json): Change => [{ job: { [key]: before } }, { job: { [key]: after } }]
const turned = (key: string, list: Json[]): Change => job(key, list, list.toReversed())

const [EARLY, LATE] = ['2026-01-05T08:00:00Z', '2026-01-05T09:00:00Z']
const UNKNOWN_STATE = 'zweeloo'
const TEXTS = ['Ost', 'West', 'Nord']

const TABLES: readonly Table[] = [
  {
    table: 'meaning/rising COUNTERS',
    words:
      'attempt attempts retry retries tries iteration iterations turn turns round rounds step tick seen spent elapsed processed visits heartbeat heartbeats uptime',
    // `seen` and `heartbeat` alone are clocks as well.
    silent: (word) => [fact(word, 3, 4), fact(`${word}_count`, 3, 4)],
    said: (word) => [fact(word, 4, 3)],
  },
  {
    table: 'meaning/rising COUNT',
    words: 'count counter no number total',
    silent: (word) => [fact(`retry_${word}`, 3, 4)],
    said: (word) => [fact(`retry_${word}`, 4, 3), fact(`beds_${word}`, 3, 4)],
  },
  {
    table: 'meaning/rising LIMITS',
    words:
      'max maximum min minimum limit limits allowed cap per planned expected target required quota rate price cost tolerance threshold dose setpoint',
    said: (word) => [fact(`${word}_attempts`, 3, 4), job(`${word}_scanned`, 3, 4)],
  },
  {
    table: 'meaning/rising CLOCK_ACTIONS',
    words: 'updated modified checked synced refreshed touched polled changed heartbeat fetched',
    silent: (word) => [fact(word, EARLY, LATE), fact(`${word}_at`, EARLY, LATE)],
    said: (word) => [fact(word, LATE, EARLY), fact(`${word}_at`, LATE, EARLY)],
  },
  {
    table: 'meaning/rising READINGS',
    words: 'sampled measured captured observed saved read synchronized recorded',
    silent: (word) => [job(`${word}_at`, EARLY, LATE)],
    said: (word) => [job(`${word}_at`, LATE, EARLY), fact(`${word}_at`, EARLY, LATE)],
  },
  {
    table: 'meaning/rising READING_KEYS',
    words: 'as_of,timestamp,last_saved,last_report,last_cycle,last_sample,last_reading',
    silent: (word) => [job(word, EARLY, LATE)],
    said: (word) => [job(word, LATE, EARLY), fact(word, EARLY, LATE)],
  },
  {
    table: 'meaning/rising WORKED_OFF',
    words:
      'steps ticks hops calls done completed handled delivered inspected counted measured read sent reviewed translated sold scanned',
    silent: (word) => [job(`crates_${word}`, 3, 4)],
    said: (word) => [job(`crates_${word}`, 4, 3), fact(`crates_${word}`, 3, 4)],
  },
  {
    table: 'explained/weak DONE',
    words:
      'done completed complete finished started begun approved signed ready reviewed submitted sent paid delivered notified resolved closed opened processed verified checked confirmed visited published merged deployed shipped booked acknowledged received uploaded unlocked',
    silent: (word) => [job(word, false, true)],
    said: (word) => [job(word, true, false), fact(word, false, true)],
  },
  {
    table: 'explained/weak COUNTS',
    words: 'count counts num total',
    said: (word) => [[{ job: { [word]: 2, beds: [4, 7] } }, { job: { [word]: 9, beds: [4, 7, 9] } }]],
  },
  {
    table: 'lists/match-objects TIMES',
    words: 'at on date time timestamp day',
    silent: (word) => [
      [
        { crew: [{ name: 'Ada', [`shift_${word}`]: '08:15' }] },
        {
          crew: [
            { name: 'Ada', [`shift_${word}`]: '08:15' },
            { name: 'Ada', [`shift_${word}`]: '19:45' },
          ],
        },
      ],
    ],
  },
  {
    table: 'lists/list-order PLACED_BY',
    words: 'at date time timestamp on due start starts order index seq no step position rank priority',
    silent: (word) => [
      turned('route', [
        { stop: 'Ost', [word]: 1 },
        { stop: 'West', [word]: 2 },
      ]),
    ],
  },
  {
    table: 'lists/list-order SCHEDULES',
    words: 'timeline schedule programme program lineup',
    said: (word) => [turned(word, TEXTS)],
    silent: (word) => [job(word, TEXTS, [...TEXTS, 'Mitte'])],
  },
  {
    table: 'lists/list-order PRECEDENCES',
    words:
      'tiebreak tiebreaks tiebreaker tiebreakers breakers precedence fallback fallbacks failover columns trajectory',
    said: (word) => [turned(word, TEXTS)],
    silent: (word) => [job(word, TEXTS, [...TEXTS, 'Mitte'])],
  },
  {
    table: 'ordered-keys ORDERS',
    words:
      'route chain sequence steps order ordering itinerary path ranking ranked stages phases stops waypoints range interval bounds window coordinates position dims dimensions procedure workflow pipeline priorities hierarchy escalation',
    said: (word) => [turned(word, TEXTS), turned(`${word}_km`, TEXTS)],
  },
  {
    table: 'lists/match-scalars SETS',
    words: 'entities constraints requirements rules policies tags labels keywords topics categories',
    // `entities` at the top is a set by its key alone.
    silent: (word) => [
      job(word, ['red', 'red', 'blue'], ['red', 'blue']),
      [
        { job: { crew: { [word]: ['red', 'red', 'blue'] }, hut: {} } },
        { job: { crew: { [word]: ['red', 'blue'] }, hut: {} } },
      ],
    ],
    said: (word) => [job(word, ['red', 'red', 'blue'], ['red', 'red'])],
  },
  {
    table: 'meaning/place-kind CODES',
    words:
      'id ids uuid no nr number numbers code codes ref refs reference version versions clause section article paragraph zip postcode phone tel mobile fax iban account serial sku isbn ean mrn firmware software revision rev edition hash digest commit sha build tag image model part docket release key name token',
    said: (word) => [job(`spare_${word}`, '3.10', '3.1')],
  },
  {
    table: 'meaning/states STATE_KEYS',
    words: 'status state stage phase',
    silent: (word) => [job(word, 'running', 'done'), job(`loading_${word}`, 'running', 'done')],
    said: (word) => [job(word, 'done', 'running')],
  },
  {
    table: 'meaning/states WORDS',
    words:
      'draft,drafted,proposed,suggested,envisaged,open,opened,new,reported,detected,todo,to do,not started,backlog,unassigned,pending,queued,waiting,awaiting,requested,created,tbd',
    silent: (word) => [job('status', word, UNKNOWN_STATE), job('status', word, 'done')],
    said: (word) => [job('status', 'running', word)],
  },
  {
    table: 'meaning/states WORDS',
    words:
      'blocked,paused,on hold,held,retrying,partial,partially done,running,in progress,started,active,working,processing,ongoing,executing,underway,doing,wip,under review,in review,reviewing,submitted,acknowledged,ack,investigating,assigned,triaged,identified,monitoring',
    silent: (word) => [job('status', UNKNOWN_STATE, word), job('status', word, 'done')],
    said: (word) => [job('status', 'done', word)],
  },
  {
    table: 'meaning/states WORDS',
    words: 'approved,accepted,granted,confirmed,authorised,authorized,signed,verified,cleared,passed,ok,valid',
    silent: (word) => [job('status', UNKNOWN_STATE, word), job('status', 'pending', word)],
    said: (word) => [job('status', word, 'running'), job('status', word, 'rejected')],
  },
  {
    table: 'meaning/states WORDS',
    words:
      'shipped,dispatched,sent,delivered,handed over,released,published,launched,deployed,paid,paid out,issued,sold',
    silent: (word) => [
      job('status', UNKNOWN_STATE, word),
      job('status', 'approved', word),
      job('status', word, 'closed'),
    ],
    said: (word) => [
      job('status', word, 'in progress'),
      job('status', word, 'open'),
      job('status', word, UNKNOWN_STATE),
    ],
  },
  {
    table: 'meaning/states WORDS',
    words:
      'done,completed,complete,finished,succeeded,success,successful,fulfilled,executed,ended,posted,resolved,fixed,mitigated,recovered,restored,failed,failure,error,errored,timed out,crashed,cancelled,canceled,aborted,withdrawn,voided,expired,rejected,denied,declined,refused,disapproved,skipped,not applicable,ignored,closed,archived,settled,postmortem,compensated,reverted,refunded,rolled back,reversed,undone',
    silent: (word) => [job('status', UNKNOWN_STATE, word), job('status', 'running', word)],
    said: (word) => [job('status', word, 'running'), job('status', word, UNKNOWN_STATE)],
  },
]

/** A quantity of a unit that says the same as another, and the next one, which does not. */
function sameQuantity(
  table: string,
  word: string,
  [value, unit, exact, other]: readonly [number, string, number, string],
): TableCase[] {
  const of = (after: number, isSaid: boolean): TableCase => {
    return {
      table,
      word,
      before: { facts: { of: { value, unit } } },
      after: { facts: { of: { value: after, unit: other } } },
      isSaid,
    }
  }
  const same = Number(exact.toPrecision(14))
  return [of(same, false), of(same * 2, true)]
}

const byName = <T>(rows: readonly (readonly [of: T, names: string])[]): readonly (readonly [of: T, name: string])[] =>
  rows.flatMap(([of, names]) => names.split('|').map((name) => [of, name] as const))

const UNIT_CASES: readonly TableCase[] = [
  ...Object.entries(CONVERSIONS).flatMap(([base, rows]) =>
    byName(rows).flatMap(([factor, name]) => sameQuantity('meaning/units UNITS', name, [3, name, 3 * factor, base])),
  ),
  ...byName(ROOM_TEMPERATURE).flatMap(([value, name]) => {
    const [other, scale] = name.startsWith('K') || name === 'kelvin' ? ([20, 'C'] as const) : ([293.15, 'K'] as const)
    return sameQuantity('meaning/units UNITS', name, [value, name, other, scale])
  }),
  ...CURRENCY_CODES.split(' ').flatMap((code) =>
    sameQuantity('meaning/units CURRENCIES', code, [3, code, 300, `${code} cents`]),
  ),
  ...byName(CURRENCY_SIGNS).flatMap(([code, sign]) => sameQuantity('meaning/units SYMBOLS', sign, [3, sign, 3, code])),
  ...byName(CURRENCY_NAMES).flatMap(([code, name]) => sameQuantity('meaning/units NAMED', name, [3, name, 3, code])),
  ...byName(CURRENCY_SCALES).flatMap(([factor, scale]) =>
    sameQuantity('meaning/units SCALES', scale, [3, `${scale} EUR`, 3 * factor, 'EUR']),
  ),
]

const WORD_CASES: readonly TableCase[] = TABLES.flatMap(({ table, words, silent, said }) =>
  words.split(words.includes(',') ? ',' : ' ').flatMap((word) => {
    const of = (changes: readonly Change[] | undefined, isSaid: boolean) =>
      (changes ?? []).map(([before, after]) => ({ table, word, before, after, isSaid }))
    return [...of(silent?.(word), false), ...of(said?.(word), true)]
  }),
)

export const TABLE_CASES: readonly TableCase[] = [...WORD_CASES, ...UNIT_CASES]

/** `last_*` is no clock by its name, and a word that is in no table lets nothing pass. */
export const NO_WORDS: readonly Change[] = [
  fact('last_audit', EARLY, LATE),
  fact('last_day', '2026-01-05', '2026-01-06'),
  fact('last_contact_on', '2026-01-05', '2026-01-06'),
  fact('beds', 3, 4),
  job('beds', 3, 4),
  job('locked', false, true),
  job('status', UNKNOWN_STATE, 'zwolle'),
  job('spare', '3.10', '3.2'),
  job('colours', ['red', 'red', 'blue'], ['red', 'blue']),
  turned('route', [
    { stop: 'Ost', height: 1 },
    { stop: 'West', height: 2 },
  ]),
]

/** What the tables are about, without any of their words. */
export const OTHER_WORDS: readonly Change[] = [turned('colours', TEXTS), job('spare', '3.10', '3.1')]
