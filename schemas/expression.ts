/**
 * @module Parser of the expression language for a policy's invariants and for approval conditions: numbers, texts, named documents with
 * members (`before` and `after` of an invariant: `after.facts.total`; `args` of a call: `args.amount`), `+ - * /`, comparisons, `&& || !`,
 * and `sum(list, each)`, `count(list)`, `all(list, each)`, `abs(x)`, `has(x)`. Inside `each`, a bare name refers to a member of the list
 * item. There are no loops, no assignments and no other calls, so an expression always ends and has no side effects.
 */

export type Operator = '+' | '-' | '*' | '/' | '==' | '!=' | '<' | '<=' | '>' | '>=' | '&&' | '||'
const FUNCTIONS = ['sum', 'count', 'all', 'abs', 'has'] as const
export type FunctionName = (typeof FUNCTIONS)[number]

export type Expression =
  | { readonly kind: 'value'; readonly value: number | string | boolean | null }
  | { readonly kind: 'path'; readonly names: readonly string[] }
  | { readonly kind: 'not' | 'minus'; readonly of: Expression }
  | { readonly kind: 'binary'; readonly operator: Operator; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly args: readonly Expression[] }

export type ParsedExpression =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly message: string }

export const EXPRESSION_MAX_CHARS = 1024
/** Nesting depth of parentheses, calls and signs. */
const DEPTH_MAX = 32
/** Nesting depth of `each`: the cost of evaluation is the product of the list lengths. */
const EACH_DEPTH_MAX = 2

const TOKEN =
  /\s*(?:(\d+(?:\.\d+)?)|"([^"\\]*)"|'([^'\\]*)'|([A-Za-z_][A-Za-z0-9_]*)|(&&|\|\||[=!<>]=|[-+*/<>!().,[\]]))/y

interface Token {
  readonly kind: 'number' | 'text' | 'name' | 'sign'
  readonly text: string
}

const INVARIANT_ROOTS = ['before', 'after'] as const

interface Parser {
  readonly tokens: readonly Token[]
  /** Names of the documents that an expression may refer to. */
  readonly roots: readonly string[]
  at: number
  depth: number
  each: number
}

const LEVELS: readonly (readonly Operator[])[] = [
  ['||'],
  ['&&'],
  ['==', '!=', '<', '<=', '>', '>='],
  ['+', '-'],
  ['*', '/'],
]

/** `roots`: names of the documents that the expression may refer to. */
export function parseExpression(text: string, roots: readonly string[] = INVARIANT_ROOTS): ParsedExpression {
  try {
    const parser: Parser = { tokens: tokensOf(text), roots, at: 0, depth: 0, each: 0 }
    const expression = parseLevel(parser, 0)
    const rest = parser.tokens[parser.at]
    if (rest !== undefined) throw new SyntaxError(`"${rest.text}" is not expected after the end of the expression`)
    return { ok: true, expression }
  } catch (error) {
    if (error instanceof SyntaxError) return { ok: false, message: error.message }
    throw error
  }
}

function tokensOf(text: string): Token[] {
  if (text.length > EXPRESSION_MAX_CHARS)
    throw new SyntaxError(`an expression has at most ${EXPRESSION_MAX_CHARS} characters`)
  const tokens: Token[] = []
  const end = text.trimEnd().length
  let at = 0
  while (at < end) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(text)
    if (match === null) throw new SyntaxError(`character ${at} begins nothing that the language knows`)
    const [, number, double, single, name, sign] = match
    if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else if (double !== undefined || single !== undefined) tokens.push({ kind: 'text', text: double ?? single ?? '' })
    else if (name !== undefined) tokens.push({ kind: 'name', text: name })
    else tokens.push({ kind: 'sign', text: sign ?? '' })
    at = TOKEN.lastIndex
  }
  return tokens
}

function parseLevel(parser: Parser, level: number): Expression {
  const operators = LEVELS[level]
  if (operators === undefined) return parseUnary(parser)
  let left = parseLevel(parser, level + 1)
  for (;;) {
    const token = parser.tokens[parser.at]
    const operator = token?.kind === 'sign' ? operators.find((each) => each === token.text) : undefined
    if (operator === undefined) return left
    parser.at += 1
    left = { kind: 'binary', operator, left, right: parseLevel(parser, level + 1) }
  }
}

function parseUnary(parser: Parser): Expression {
  if (takeSign(parser, '!')) return { kind: 'not', of: deeper(parser, () => parseUnary(parser)) }
  if (takeSign(parser, '-')) return { kind: 'minus', of: deeper(parser, () => parseUnary(parser)) }
  return parsePrimary(parser)
}

function parsePrimary(parser: Parser): Expression {
  const token = parser.tokens[parser.at]
  if (token === undefined) throw new SyntaxError('the expression ends too early')
  parser.at += 1
  if (token.kind === 'number') return { kind: 'value', value: Number(token.text) }
  if (token.kind === 'text') return { kind: 'value', value: token.text }
  if (token.kind === 'name') return parseName(parser, token.text)
  if (token.text !== '(') throw new SyntaxError(`"${token.text}" is where a value is expected`)
  const inner = deeper(parser, () => parseLevel(parser, 0))
  expectSign(parser, ')')
  return inner
}

function parseName(parser: Parser, name: string): Expression {
  if (name === 'true' || name === 'false') return { kind: 'value', value: name === 'true' }
  if (name === 'null') return { kind: 'value', value: null }
  if (parser.tokens[parser.at]?.text === '(' && parser.tokens[parser.at]?.kind === 'sign')
    return parseCall(parser, name)
  if (parser.each === 0 && !parser.roots.includes(name)) {
    const [first = '', second] = parser.roots
    const known = second === undefined ? `not ${first}` : `neither ${first} nor ${second}`
    throw new SyntaxError(`"${name}" is ${known}; bare names are allowed inside sum(...) and all(...) only`)
  }
  const names = [name]
  for (;;) {
    if (takeSign(parser, '.')) names.push(takeName(parser))
    else if (takeSign(parser, '[')) {
      names.push(takeKey(parser))
      expectSign(parser, ']')
    } else return { kind: 'path', names }
  }
}

function takeName(parser: Parser): string {
  const token = parser.tokens[parser.at]
  if (token?.kind !== 'name') throw new SyntaxError('a name is expected after "."')
  parser.at += 1
  return token.text
}

function takeKey(parser: Parser): string {
  const token = parser.tokens[parser.at]
  if (token === undefined || (token.kind !== 'text' && !(token.kind === 'number' && /^\d+$/.test(token.text)))) {
    throw new SyntaxError('a quoted key or the number of a member is expected in [...]')
  }
  parser.at += 1
  return token.text
}

function parseCall(parser: Parser, name: string): Expression {
  const called = FUNCTIONS.find((each) => each === name)
  if (called === undefined) throw new SyntaxError(`there is no function "${name}"; there are ${FUNCTIONS.join(', ')}`)
  expectSign(parser, '(')
  const args = [deeper(parser, () => parseLevel(parser, 0))]
  if ((called === 'sum' || called === 'all') && takeSign(parser, ',')) {
    if (parser.each >= EACH_DEPTH_MAX) throw new SyntaxError(`sum and all may be nested at most ${EACH_DEPTH_MAX} deep`)
    parser.each += 1
    args.push(deeper(parser, () => parseLevel(parser, 0)))
    parser.each -= 1
  }
  if (called === 'all' && args.length < 2)
    throw new SyntaxError('all(list, each) needs what is to hold for each member')
  expectSign(parser, ')')
  return { kind: 'call', name: called, args }
}

function deeper<T>(parser: Parser, parse: () => T): T {
  parser.depth += 1
  if (parser.depth > DEPTH_MAX) throw new SyntaxError(`an expression nests at most ${DEPTH_MAX} deep`)
  const parsed = parse()
  parser.depth -= 1
  return parsed
}

function takeSign(parser: Parser, sign: string): boolean {
  const token = parser.tokens[parser.at]
  if (token?.kind !== 'sign' || token.text !== sign) return false
  parser.at += 1
  return true
}

function expectSign(parser: Parser, sign: string): void {
  if (takeSign(parser, sign)) return
  throw new SyntaxError(`"${sign}" is expected, not ${parser.tokens[parser.at]?.text ?? 'the end'}`)
}
