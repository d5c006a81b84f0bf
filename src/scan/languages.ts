/** Everything the scanner knows about a language. */
export interface Language {
  readonly name: string;
  readonly extensions: readonly string[];
  /** The grammar's file is `tree-sitter-GRAMMAR.wasm`. */
  readonly grammar: string;
  /** Kinds of node types that override `COMMON_KINDS`. */
  readonly kinds: Readonly<Record<string, Kind>>;
  /** Start of a comment that ends with its line. */
  readonly comment: string;
  /** How a file refers to others of its project: by relative path, dotted module, class name, or package (a folder). */
  readonly imports: 'relative' | 'dotted' | 'class' | 'folder';
}

const SCRIPT = { kinds: {}, comment: '//', imports: 'relative' } as const;

/** Every language whose syntax is read. Other kinds of text are in `plain-text.ts`. */
export const LANGUAGES: readonly Language[] = [
  { ...SCRIPT, name: 'typescript', extensions: ['.ts', '.mts', '.cts'], grammar: 'typescript' },
  { ...SCRIPT, name: 'typescript', extensions: ['.tsx'], grammar: 'tsx' },
  { ...SCRIPT, name: 'javascript', extensions: ['.js', '.mjs', '.cjs', '.jsx'], grammar: 'javascript' },
  {
    name: 'python',
    extensions: ['.py', '.pyi'],
    grammar: 'python',
    kinds: { attribute: 'member' },
    comment: '#',
    imports: 'dotted',
  },
  {
    name: 'ruby',
    extensions: ['.rb', '.rake', '.gemspec'],
    grammar: 'ruby',
    kinds: { block: 'function' },
    comment: '#',
    imports: 'class',
  },
  { name: 'php', extensions: ['.php'], grammar: 'php', kinds: {}, comment: '//', imports: 'class' },
  { name: 'java', extensions: ['.java'], grammar: 'java', kinds: {}, comment: '//', imports: 'class' },
  { name: 'csharp', extensions: ['.cs'], grammar: 'c-sharp', kinds: {}, comment: '//', imports: 'class' },
  { name: 'go', extensions: ['.go'], grammar: 'go', kinds: {}, comment: '//', imports: 'folder' },
];

/** The language of a file by the end of its name; null if its syntax is not read. */
export function languageOf(file: string): Language | null {
  const name = file.toLowerCase();
  return LANGUAGES.find(({ extensions }) => extensions.some((end) => name.endsWith(end))) ?? null;
}

/** Node types that mean the same in every grammar that has them, by kind: one vocabulary for every language. */
const TYPES_BY_KIND = {
  string: `string template_string string_literal interpreted_string_literal raw_string_literal encapsed_string
    heredoc nowdoc interpolated_string_expression verbatim_string_literal heredoc_body bare_string`,
  symbol: 'simple_symbol hash_key_symbol',
  content: `string_fragment string_content string_literal_content interpreted_string_literal_content nowdoc_string
    raw_string_literal_content raw_string_content heredoc_content multiline_string_fragment`,
  escape: 'escape_sequence escape_interpolation',
  concat: 'concatenated_string chained_string',
  number: `number integer decimal_integer_literal integer_literal int_literal float_literal`,
  name: `identifier constant name variable_name property_identifier type_identifier field_identifier this self
    instance_variable class_variable global_variable private_property_identifier relative_scope
    package_identifier private_property`,
  member: `member_expression member_access_expression field_access selector_expression
    class_constant_access_expression scoped_property_access_expression nullsafe_member_access_expression
    scope_resolution conditional_access_expression`,
  index: `subscript_expression subscript element_reference element_access_expression index_expression array_access`,
  call: `call_expression call new_expression function_call_expression member_call_expression
    scoped_call_expression nullsafe_member_call_expression object_creation_expression
    implicit_object_creation_expression method_invocation invocation_expression`,
  pair: 'pair keyword_argument array_element_initializer keyed_element',
  shorthand: 'shorthand_property_identifier',
  object: `object dictionary hash array_creation_expression literal_value initializer_expression composite_literal
    array list anonymous_object_creation_expression`,
  binary: 'binary_expression binary_operator boolean_operator binary comparison_operator',
  conditional: 'ternary_expression conditional_expression conditional',
  assign: `variable_declarator assignment assignment_expression augmented_assignment
    augmented_assignment_expression operator_assignment short_var_declaration const_spec var_spec
    assignment_statement named_expression as_pattern public_field_definition field_definition
    property_element const_element resource`,
  function: `function_declaration function_expression arrow_function method_definition function_definition lambda
    method singleton_method do_block method_declaration constructor_declaration func_literal
    lambda_expression anonymous_function anonymous_function_creation_expression anonymous_method_expression
    local_function_statement generator_function_declaration`,
  class: `class_declaration class_definition class module interface_declaration struct_declaration
    record_declaration`,
  return: 'return_statement return',
  wrap: `parenthesized_expression await_expression await as_expression satisfies_expression non_null_expression
    argument cast_expression type_assertion_expression type_conversion_expression expression_list
    unary_expression literal_element parenthesized_statements equals_value_clause template_substitution
    interpolation clone_expression variadic_unpacking postfix_unary_expression`,
  import: `import_statement import_from_statement import_declaration using_directive namespace_use_declaration
    package_clause package_declaration namespace_definition future_import_statement`,
  annotation: 'decorator annotation marker_annotation attribute_list attribute_group',
  comment: 'comment line_comment block_comment html_comment text_interpolation',
} as const;

/** What a syntax node means to the scanner. */
export type Kind = keyof typeof TYPES_BY_KIND | 'other';

function isKind(name: string): name is keyof typeof TYPES_BY_KIND {
  return Object.hasOwn(TYPES_BY_KIND, name);
}

/** The kind of each node type. */
export const COMMON_KINDS: ReadonlyMap<string, Kind> = new Map(
  Object.entries(TYPES_BY_KIND).flatMap(([kind, types]) =>
    isKind(kind) ? types.split(/\s+/).map((type) => [type, kind] as const) : [],
  ),
);
