// `${NAME}` and `${NAME:-default}` in the texts of the configuration, filled from the environment.
// Promise kept here: nothing is guessed: what is unset or malformed is reported, and never stays in the text as it is.

/** The variables a configuration may use; `process.env` fits. */
export type Environment = Readonly<Record<string, string | undefined>>

const owners = new WeakMap<Environment, string>()

/** Names the process that an environment is of, for messages that another user reads. @param owner such as `worker 4711 on db1` */
export const nameEnvironment = (env: Environment, owner: string): void =>
  void owners.set(env, owner)

/** The process that the environment is of; undefined where it is that of the command itself. */
export const ownerOf = (env: Environment): string | undefined => owners.get(env)

/** `environment variable X is not set`, and for which process where that is not the command itself. */
export const notSetText = (name: string, env: Environment): string => {
  const owner = ownerOf(env)
  const text = `environment variable \`${name}\` is not set`
  return owner === undefined
    ? text
    : `${text} for ${owner}: set it where that worker starts, and start it again`
}

const reference = /\$\$\{|\$\{(?<name>[A-Za-z_]\w*)(?::-(?<fallback>[^}]*))?\}|\$\{[^}]*\}?/g

/**
 * Fills the references of `text`. As in a shell, an empty variable gets the default too. `$${` means `${`.
 * @returns `filled`: a variable decided a part of the text, so it is never shown; `bad`: the references that cannot be filled, as
 * written, and what is wrong with them
 */
export function interpolate(text: string, env: Environment) {
  const bad: { readonly reference: string; readonly message: string }[] = []
  let filled = false
  const result = text.replace(reference, (match: string, ...rest: unknown[]) => {
    if (match === '$${') return '${'
    const { name, fallback } = rest.at(-1) as { name?: string; fallback?: string }
    if (name === undefined) {
      const message = 'expected `${NAME}` or `${NAME:-default}`; for a literal `${` write `$${`'
      bad.push({ reference: match, message })
      return match
    }
    filled = true
    const value = env[name]
    if (typeof value === 'string' && (value !== '' || fallback === undefined)) return value
    if (fallback !== undefined) return fallback
    const text = notSetText(name, env)
    const set = ownerOf(env) === undefined ? 'set it, or write' : 'Or write'
    const message = `${text}${ownerOf(env) === undefined ? ';' : '.'} ${set} \`\${${name}:-default}\``
    bad.push({ reference: match, message })
    return match
  })
  return { text: result, filled, bad }
}
