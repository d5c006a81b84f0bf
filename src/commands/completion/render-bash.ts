import { firstWords, type Grammar, type OptionWords } from './grammar.js';

/** A completion script for bash 4 and later, and for zsh after `bashcompinit`. */
export function renderBash(grammar: Grammar): string {
  return `# svc-migrate completion for bash; \`source\` this file.
_svc_migrate() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= words= i
  # The command is the first one or two words that are neither options nor their values.
  local found=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${valueOptions(grammar).join(' | ')}) ((i++)) ;;
      -*) ;;
      *) found+=("\${COMP_WORDS[i]}") ;;
    esac
  done
  case "\${found[0]} \${found[1]}" in
${commandCases(grammar)}
  esac
  case "$command $prev" in
${valueCases(grammar)}
  esac
  if [[ $cur == -* ]]; then
    words="${grammar.common.map(nameOf).join(' ')}"
    case $command in
${optionCases(grammar)}
    esac
  elif ((\${#found[@]} == 0)); then
    words="${firstWords(grammar)
      .map(({ word }) => word)
      .join(' ')}"
  elif [[ -z $command ]]; then
    case \${found[0]} in
${groupCases(grammar)}
    esac
  else
    case "$command:\${#found[@]}" in
${argumentCases(grammar)}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o bashdefault -F _svc_migrate svc-migrate
`;
}

function takesValue({ value }: OptionWords): boolean {
  return value !== 'none';
}

function valueOptions({ commands, common }: Grammar): string[] {
  const all = [...common, ...commands.flatMap(({ options }) => options)];
  return [...new Set(all.filter(takesValue).map(nameOf))];
}

function nameOf({ name }: OptionWords): string {
  return name;
}

function commandCases({ commands }: Grammar): string {
  return commands
    .map(({ name }) => `    ${name.includes(' ') ? `"${name}"` : `"${name} "*`}) command="${name}" ;;`)
    .join('\n');
}

/** Completes the value of an option: its choices, files, or nothing. */
function valueCases({ commands, common }: Grammar): string {
  const cases = [
    ...common.map((option) => ['*', option] as const),
    ...commands.flatMap(({ name, options }) => options.map((option) => [`"${name}"`, option] as const)),
  ];
  return cases
    .filter(([, option]) => takesValue(option))
    .map(([command, { name, value }]) => `    ${command}" ${name}") ${completeValue(value)}; return ;;`)
    .join('\n');
}

function completeValue(value: OptionWords['value']): string {
  if (value === 'file') return 'COMPREPLY=($(compgen -f -- "$cur"))';
  return typeof value === 'string'
    ? 'COMPREPLY=()'
    : `COMPREPLY=($(compgen -W "${value.join(' ')}" -- "$cur"))`;
}

function optionCases({ commands }: Grammar): string {
  return commands
    .filter(({ options }) => options.length > 0)
    .map(({ name, options }) => `      "${name}") words+=" ${options.map(nameOf).join(' ')}" ;;`)
    .join('\n');
}

function groupCases(grammar: Grammar): string {
  const groups = new Map<string, string[]>();
  for (const { name } of grammar.commands) {
    const [first = '', second] = name.split(' ');
    if (second !== undefined) groups.set(first, [...(groups.get(first) ?? []), second]);
  }
  return [...groups].map(([first, seconds]) => `      ${first}) words="${seconds.join(' ')}" ;;`).join('\n');
}

function argumentCases({ commands }: Grammar): string {
  return commands
    .filter(({ firstArgs }) => firstArgs.length > 0)
    .map(
      ({ name, firstArgs }) => `      "${name}:${name.split(' ').length}") words="${firstArgs.join(' ')}" ;;`,
    )
    .join('\n');
}
