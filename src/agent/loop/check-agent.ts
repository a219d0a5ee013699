/** @module Options of an agent of the loop, and of a conversation, judged where they are said (RUN-192). */
import { aList, anything, checkOptions, type Rule } from '../option-rules.ts'

const MODEL = 'a function of the messages, or a model such as openAiModel(...) makes one'

export const someTools: Rule = (tools) =>
  typeof tools === 'object' && tools !== null && Symbol.iterator in tools
    ? undefined
    : 'a list of tools that cs.tool made'

export const aModel: Rule = (model) => {
  if (typeof model === 'function') return undefined
  const isModel = typeof model === 'object' && model !== null && 'complete' in model
  return isModel && typeof model.complete === 'function' ? undefined : MODEL
}

/** Throws `invalid-option`. */
export function checkConversation(conversation: unknown): void {
  const goesOn = typeof conversation === 'object' && conversation !== null && 'messages' in conversation
  const member = goesOn ? 'messages' : 'prompt'
  // One that is gone on with may have its first question with it; as an agent of a step it is handed the signal of that.
  const rules = { prompt: anything, messages: goesOn ? aList : anything, abortSignal: anything }
  checkOptions('a conversation', conversation, rules, [member])
}
