/** @module The answer to each kind of command. */
import type { Command } from '../commands.ts'
import type { JsonObject } from '../json.ts'
import type { StartAnswer } from './runs.ts'

interface Answers extends Record<Command['kind'], JsonObject> {
  readonly start: StartAnswer
}

/** The answer to a command, by its kind. */
export type AnswerTo<C extends Command> = Answers[C['kind']]
